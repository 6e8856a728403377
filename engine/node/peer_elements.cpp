#include "engine/node/peer_elements.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/views/cma.hpp"

namespace weft::engine {

namespace {

constexpr std::size_t kRuns = 128;  // of a system call

}  // namespace

/// copy(elements where this process reads them). False: it does not.
template <class Copy>
bool PeerElements::copy_in_place(const Copy& copy) noexcept {
  PeerMemory& peers = node_.peers();
  const Range range = range_of(theirs_);
  const std::uint64_t bytes = range.end - range.begin;
  const PeerMemory::Found found =
      peers.find(place_, {reinterpret_cast<std::byte*>(range.begin), bytes, 1, bytes, 0});
  if (found.memory == nullptr) return false;
  Elements here = theirs_;
  here.buffer += reinterpret_cast<std::uintptr_t>(found.memory) - range.begin;
  if (found.by != View::xpmem) {
    copy(here);
  } else if (!peers.attachments().reach([&] { copy(here); })) {
    return false;
  }
  peers.count_moved(found.by, theirs_.bytes());
  return true;
}

bool PeerElements::copy_to(const Elements& ours, bool past_caches) noexcept {
  if (theirs_.bytes() == 0) return true;
  if (copy_in_place([&](const Elements& here) { copy(ours, here, past_caches); })) return true;
  return for_each_piece([&](std::uint64_t from, std::uint64_t to, const std::byte* packed) {
    unpack(ours, from, to, packed);
  });
}

bool PeerElements::for_each_piece(const std::function<void(std::uint64_t from, std::uint64_t to,
                                                           const std::byte* packed)>& take) {
  const std::uint64_t bytes = theirs_.bytes();
  for (std::uint64_t at = 0; at < bytes; at += scratch_.size()) {
    const std::uint64_t end = std::min(bytes, at + scratch_.size());
    if (!read(at, end)) return false;
    take(at, end, scratch_.data());
  }
  return true;
}

/// Packs bytes `from` to `to` into the scratch memory.
bool PeerElements::read(std::uint64_t from, std::uint64_t to) noexcept {
  const auto pack_here = [&](const Elements& here) { pack(here, from, to, scratch_.data()); };
  if (copy_in_place(pack_here)) return true;
  std::array<iovec, kRuns> there;
  for (std::uint64_t at = from; at < to;) {
    std::uint64_t covered = 0;
    const std::size_t runs = list_runs(theirs_, at, to, there, covered);
    const std::array<iovec, 1> here = {iovec{scratch_.data() + (at - from), covered}};
    const std::int64_t done =
        read_runs(node_.living_process(place_), here, std::span(there).first(runs));
    if (done <= 0) return errno != ESRCH && read_by_owner(from, to);
    at += static_cast<std::uint64_t>(done);
  }
  node_.peers().count_moved(View::cma, to - from);
  return true;
}

bool PeerElements::read_by_owner(std::uint64_t from, std::uint64_t to) noexcept {
  for (std::uint64_t at = from; at < to;) {
    std::array<iovec, 1> run = {};
    std::uint64_t bytes = 0;
    list_runs(theirs_, at, to, run, bytes);
    const verbs::Layout ours{scratch_.data() + (at - from), bytes, 1, bytes, 0};
    const verbs::Layout theirs{static_cast<std::byte*>(run[0].iov_base), bytes, 1, bytes, 0};
    if (!node_.copy_by_owner(place_, ours, theirs, false)) return false;
    at += bytes;
  }
  return true;
}

}  // namespace weft::engine
