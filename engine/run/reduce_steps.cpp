// Steps of an execution that reduce, also from buffers of other ranks of this node.
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "engine/copying/reduce.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using verbs::Layout;

namespace {

// Pieces fetched from other processes stay in the nearest caches until they are reduced: the most
// of one source, and of all sources of a fold.
constexpr std::size_t kPieceBytes = 32 << 10;
constexpr std::size_t kPiecesBytes = 256 << 10;
// For shorter pieces the system call takes longer than the copy.
constexpr std::size_t kLeastPieceBytes = 8 << 10;

constexpr std::size_t piece_bytes(std::size_t sources) {
  const std::size_t each = kPiecesBytes / std::max<std::size_t>(1, sources);
  return std::clamp(each, kLeastPieceBytes, kPieceBytes);
}

}  // namespace

void Pieces::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  bytes_ = bytes;
}

void Pieces::reserve_for(std::size_t sources) {
  fetched_.resize(sources);
  reserve(std::max(kPiecesBytes, sources * kLeastPieceBytes));
}

/// The address at which this process loads a reduction's source; null: it cannot load all of it. A
/// reduction that has begun cannot be repeated, so all pages are tried first.
PeerMemory::Found Execution::reach_all(const Operand& source) noexcept {
  PeerMemory::Found found = reach(source);
  if (found.memory == nullptr || found.by != View::xpmem) return found;
  Layout there = layout(source, false);
  there.base = found.memory;
  if (!executor_.node_->peers().attachments().touch(there)) found.memory = nullptr;
  return found;
}

/// Calls `use`, which reduces from peers' memory and cannot be repeated. `maps`: some of that
/// memory is mapped by xpmem.
template <class Use>
bool Execution::combine(bool maps, Use use) noexcept {
  if (!maps) {
    use();
    return true;
  }
  if (executor_.node_->peers().attachments().reach(use)) return true;
  executor_.poison("the memory of a rank of this node was gone in the middle of a reduction");
  return false;
}

/// Does all steps of a fold, of which `step` is the last.
bool Execution::fold(const Step& step) noexcept {
  const auto steps = prepared_->program.steps();
  const auto members = prepared_->program.fold(step.fold);
  const Operation& operation = *buffers_.operation;
  const std::uint64_t piece =
      piece_bytes(members.size()) / operation.element_bytes * operation.element_bytes;
  if (operation.fold == nullptr || piece == 0 || is_peer_buffer(step.dst)) {
    return std::ranges::all_of(members, [&](std::uint32_t member) {
      return steps[member].kind == plan::OpKind::copy ? copy(steps[member]) : reduce(steps[member]);
    });
  }
  std::byte* const to = bases_[step.dst.base].memory + step.dst.offset;
  std::size_t count = 0;
  std::size_t fetched = 0;
  std::array<std::uint64_t, kViews> bytes = {};
  if (steps[members.front()].kind == plan::OpKind::reduce) fold_sources_[count++] = to;
  for (const std::uint32_t member : members) {
    const Operand& source = steps[member].src;
    const PeerMemory::Found found = reach_all(source);
    if (found.memory == nullptr) {
      pieces_.at(fetched++) = {count, owner_of(source), layout(source, false).base};
    } else if (is_peer_buffer(source)) {
      bytes[index_of(found.by)] += source.bytes();
    }
    fold_sources_[count++] = found.memory;
  }
  for (std::size_t view = 0; executor_.node_ != nullptr && view < kViews; ++view) {
    executor_.node_->peers().count_moved(static_cast<View>(view), bytes[view]);
  }
  const bool maps = bytes[index_of(View::xpmem)] != 0;
  const auto fold_at = [&](std::uint64_t at, std::uint64_t length) {
    return combine(maps, [&] {
      operation.fold(operation.context, to + at, fold_sources_.data(), count,
                     length / operation.element_bytes);
    });
  };
  const std::uint64_t all = step.dst.bytes();
  if (fetched == 0) return fold_at(0, all);
  for (std::uint64_t at = 0; at < all; at += piece) {
    const std::uint64_t length = std::min(piece, all - at);
    if (!fetch(fetched, at, length) || !fold_at(at, length)) return false;
    std::size_t next = 0;
    for (std::size_t source = 0; source < count; ++source) {
      if (next < fetched && pieces_.at(next).source == source) {
        ++next;
      } else {
        fold_sources_[source] += length;
      }
    }
  }
  return true;
}

/// Fetches a piece of each of the first `count` sources that this process cannot load. A rank
/// begins with the source behind its own place, so that no two ranks of a node begin with the same
/// one. The order of the reduction stays the plan's.
bool Execution::fetch(std::size_t count, std::uint64_t at, std::uint64_t bytes) noexcept {
  std::size_t first = 0;
  while (first < count && pieces_.at(first).place < executor_.node_->place()) ++first;
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::size_t number = (first + turn) % count;
    const Pieces::Fetched& one = pieces_.at(number);
    std::byte* const here = pieces_.memory() + number * bytes;
    const Layout ours{here, bytes, 1, bytes, 0};
    if (!move_by_kernel(one.place, ours, {one.there + at, bytes, 1, bytes, 0}, false)) return false;
    fold_sources_[one.source] = here;
  }
  return true;
}

bool Execution::reduce(const Step& step) noexcept {
  const Layout dst = layout(step.dst, false);
  Layout src = layout(step.src, false);
  if (!is_peer_buffer(step.src)) {
    return engine::reduce(*buffers_.operation, step.dst_operand, dst, src);
  }
  Fetch fetch;
  struct Source {
    Execution* execution;
    int place;
  } source{this, 0};
  const PeerMemory::Found found = reach_all(step.src);
  src = layout(step.src, false);  // where it lies is known now
  if (found.memory != nullptr) {
    src.base = found.memory;
    executor_.node_->peers().count_moved(found.by, src.bytes());
  } else {
    // Fetched from the other process, a piece at a time.
    source.place = owner_of(step.src);
    pieces_.reserve(buffers_.operation->element_bytes);
    fetch.context = &source;
    fetch.piece = std::max(kPieceBytes, buffers_.operation->element_bytes);
    fetch.call = [](void* context, const std::byte* theirs, std::uint64_t bytes) {
      const auto& from = *static_cast<Source*>(context);
      std::byte* ours = from.execution->pieces_.memory();
      const Layout there{const_cast<std::byte*>(theirs), bytes, 1, bytes, 0};
      const bool good =
          from.execution->move_by_kernel(from.place, {ours, bytes, 1, bytes, 0}, there, false);
      return good ? static_cast<const std::byte*>(ours) : nullptr;
    };
  }
  bool fetched = true;
  const auto all = [&] {
    fetched = engine::reduce(*buffers_.operation, step.dst_operand, dst, src, fetch);
  };
  return combine(found.memory != nullptr && found.by == View::xpmem, all) && fetched;
}

}  // namespace weft::engine
