#include "comm/irregular/direct_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "engine/heap/heap.hpp"
#include "engine/node/peer_elements.hpp"

namespace weft::comm {

namespace {

using engine::Elements;
using engine::Nest;

// Some four hundred nests: mostly one a layout.
constexpr std::size_t kBoardBytes = 64 << 10;
// Shorter blocks take less time to be packed and unpacked than the barrier after direct copies
// does, of ranks that each have a core and of others: 16 KiB packed and direct take 0.9 and 0.6 us
// between 2 ranks, 5.3 and 7.3 between 4 on 2 cores.
constexpr std::uint64_t kLeast = 8 << 10;
constexpr std::uint64_t kLeastCrowded = 32 << 10;
// In a core's second cache.
constexpr std::size_t kScratchBytes = 128 << 10;

/// Of what a layout is; the places of elements in memory apart.
std::uint64_t digest_of(std::span<const Nest> nests) noexcept {
  std::uint64_t digest = nests.size();
  const auto add = [&](std::uint64_t value) {
    digest = (digest ^ value) * 0x9e3779b97f4a7c15;
    digest ^= digest >> 29;
  };
  for (const Nest& nest : nests) {
    add(static_cast<std::uint64_t>(nest.at));
    add(nest.run_bytes);
    for (const engine::Loop& loop : nest.loops) {
      add(loop.count);
      add(static_cast<std::uint64_t>(loop.stride));
    }
  }
  return digest;
}

bool is_in_heap(const Elements& block) noexcept {
  if (engine::heap::is_hidden()) return false;
  const engine::Range range = engine::range_of(block);
  return engine::heap::contains(reinterpret_cast<const void*>(range.begin)) &&
         engine::heap::contains(reinterpret_cast<const void*>(range.end - 1));
}

}  // namespace

void DirectCopies::make_boards() {
  boards_.resize(static_cast<std::size_t>(resources_.places()));
  engine::SharedMemory& own = boards_[static_cast<std::size_t>(resources_.place())];
  const auto handles = resources_.members().agree([&] {
    own = engine::SharedMemory::create("board", kBoardBytes);
    return own.handle();
  });
  resources_.members().agree([&] {
    for (int rank = 0; rank < resources_.size(); ++rank) {
      const auto number = static_cast<std::size_t>(rank);
      const auto place = static_cast<std::size_t>(resources_.place_of_rank()[number]);
      if (rank != resources_.rank()) {
        boards_[place] = engine::SharedMemory::attach(handles[number], kBoardBytes);
      }
    }
  });
  board_ = {reinterpret_cast<Nest*>(own.data()), kBoardBytes / sizeof(Nest)};
}

/// Whether receivers reach it by loads. System calls, which ask the kernel for each page, take
/// longer than to pack and unpack in pieces that stay in a cache: twice as long between 2 ranks.
bool DirectCopies::is_reached(const Elements& block) const {
  using engine::View;
  switch (resources_.view()) {
    case View::same_process:
    case View::xpmem:
      return true;
    case View::shared_heap:
      return is_in_heap(block);
    case View::cma:
      return false;
    case View::staged:
      return resources_.sees_only_heaps() && is_in_heap(block);
  }
  return false;
}

Shown DirectCopies::show(const Elements& block) {
  Shown shown;
  const bool is_crowded = resources_.node()->crowded();
  if (block.bytes() < (is_crowded ? kLeastCrowded : kLeast) || !is_reached(block) ||
      !write(block.nests, shown))
    return {};
  shown.buffer = block.buffer;
  shown.element_bytes = block.element_bytes;
  shown.extent = block.extent;
  shown.count = block.count;
  return shown;
}

/// Finds a layout on the board, or writes it there. False: it is full.
bool DirectCopies::write(std::span<const Nest> nests, Shown& shown) {
  const std::uint64_t digest = digest_of(nests);
  const auto [begin, end] = places_.equal_range(digest);
  for (auto place = begin; place != end; ++place) {
    shown = place->second;
    if (std::ranges::equal(nests, board_.subspan(shown.first_nest, shown.nests))) return true;
  }
  if (board_.size() - written_ < nests.size()) return false;
  std::ranges::copy(nests, board_.begin() + static_cast<std::ptrdiff_t>(written_));
  shown.first_nest = static_cast<std::uint32_t>(written_);
  shown.nests = static_cast<std::uint32_t>(nests.size());
  places_.emplace(digest, shown);
  written_ += nests.size();
  return true;
}

void DirectCopies::take(int from, const Shown& shown, const Elements* block, const Packer& packer,
                        bool past_caches) {
  const int place = resources_.place_of_rank()[static_cast<std::size_t>(from)];
  const engine::SharedMemory& board = boards_[static_cast<std::size_t>(place)];
  const auto* nests = reinterpret_cast<const Nest*>(board.data()) + shown.first_nest;
  const Elements theirs{
      shown.buffer, {nests, shown.nests}, shown.element_bytes, shown.extent, shown.count};
  scratch_.resize(kScratchBytes);
  engine::PeerElements peer(*resources_.node(), place, theirs, scratch_);
  const bool done = block != nullptr
                        ? peer.copy_to(*block, past_caches)
                        : peer.for_each_piece(
                              [&](std::uint64_t begin, std::uint64_t end, const std::byte* packed) {
                                packer.unpack(from, begin, end, packed);
                              });
  if (!done) {
    throw Error(
        fmt::format("the memory of rank {} cannot be read: {}", from, std::strerror(errno)));
  }
}

}  // namespace weft::comm
