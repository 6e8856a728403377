#include "engine/node/shm_wire.hpp"

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/cast.hpp"
#include "base/copy_bytes.hpp"
#include "base/error.hpp"
#include "engine/views/cma.hpp"

namespace weft::engine {

using verbs::Layout;
using verbs::Status;

namespace {
constexpr std::size_t kAlignment = 64;  // of an inbox

/// Of the ring of a wire. More where few ranks share cores, as each time that there is no room
/// costs turns of the cores.
std::uint32_t slots_of(const NodeControl& node) noexcept {
  constexpr std::uint32_t kUsual = verbs::kSlots;
  if (!node.any_crowded() || node.places() > 8) return kUsual;
  return node.places() > 4 && !node.has_long_rings() ? 2 * kUsual : 4 * kUsual;
}
}  // namespace

std::size_t ShmWire::inbox_bytes(const NodeControl& node) noexcept {
  return round_up(verbs::inbox_bytes(slots_of(node)), kAlignment);
}

ShmWire::ShmWire(NodeControl& node, int place, SharedMemory mine, std::size_t my_offset,
                 SharedMemory theirs, std::size_t their_offset)
    : node_(node), place_(place), mine_(std::move(mine)), theirs_(std::move(theirs)) {
  const std::size_t bytes = inbox_bytes(node_);
  const bool is_inside = theirs_.size() >= bytes && their_offset <= theirs_.size() - bytes;
  if (!is_inside || their_offset % kAlignment != 0) {
    throw Error(fmt::format("an inbox at {} of {} bytes of rank {}", their_offset, theirs_.size(),
                            node_.rank_at(place_)));
  }
  use_polled_inbox(mine_.data() + my_offset, slots_of(node_));
  outbox_ = theirs_.data() + their_offset;
}

Status ShmWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  std::atomic_ref<std::uint64_t> word(
      *reinterpret_cast<std::uint64_t*>(outbox_ + offset + bytes - 8));
  if (!node_.crowded()) {
    word.store(last, std::memory_order_release);
    return Status::ok;
  }
  word.store(last, std::memory_order_seq_cst);
  node_.doorbell(place_).ring(node_.place());
  return Status::ok;
}

Status ShmWire::put(std::uint64_t remote, const verbs::RemoteKeys& /*keys*/, const std::byte* local,
                    std::uint32_t /*local_key*/, std::size_t bytes) noexcept {
  const Layout ours{const_cast<std::byte*>(local), bytes, 1, bytes, 0};
  const Layout theirs{reinterpret_cast<std::byte*>(remote), bytes, 1, bytes, 0};
  if (!put_in_place(theirs, local)) {
    const bool by_kernel = write_to(node_.living_process(place_), ours, theirs);
    if (by_kernel) {
      node_.peers().count_moved(View::cma, bytes);
    } else if (errno == ESRCH || !node_.copy_by_owner(place_, ours, theirs, true)) {
      failure_ = "process_vm_writev to a rank of this node failed";
      return Status::failed;
    }
  }
  puts_done_ = ++puts_;
  return Status::ok;
}

bool ShmWire::put_in_place(const Layout& theirs, const std::byte* local) noexcept {
  const PeerMemory::Found found = node_.peers().find(place_, theirs);
  if (found.memory == nullptr) return false;
  const auto copy = [&] { copy_bytes(found.memory, local, theirs.block_bytes); };
  if (found.by != View::xpmem) {
    copy();
  } else if (!node_.peers().attachments().reach(copy)) {
    return false;
  }
  node_.peers().count_moved(found.by, theirs.block_bytes);
  return true;
}

}  // namespace weft::engine
