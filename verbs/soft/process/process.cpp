#include "verbs/soft/process/process.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/soft/segment/clock.hpp"

namespace weft::soft {

namespace {

/// A number that differs between processes that start at the same time.
std::uint32_t random_start(std::uint64_t salt) {
  std::uint64_t x = static_cast<std::uint64_t>(::getpid()) * 0x9e37'79b9'7f4a'7c15 + salt;
  x ^= static_cast<std::uint64_t>(now_ns()) >> 10;
  x *= 0xbf58'476d'1ce4'e5b9;
  return static_cast<std::uint32_t>(x >> 33);
}

/// Binds the first free slot, from one that the pid chooses on. Binding is the reservation: it is
/// atomic, and the kernel undoes it however the process ends.
std::uint32_t bind_slot(int socket) {
  constexpr std::uint32_t kCount = kLastSlot - kFirstSlot + 1;
  const std::uint32_t start = static_cast<std::uint32_t>(::getpid()) * 37;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t slot = kFirstSlot + (start + i) % kCount;
    const SlotAddress address(slot);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(address.storage), address.length) == 0) {
      return slot;
    }
    if (errno != EADDRINUSE) throw_errno(fmt::format("bind(weft-soft slot {})", slot));
  }
  throw SystemError(fmt::format("all {} slots of the software device are taken", kCount), EAGAIN);
}

}  // namespace

Process::Process()
    : qp_indices(1, kMaxQps, random_start(1)),
      cq_indices(0, kMaxCqs, 0),
      srq_indices(0, kMaxSrqs, 0),
      mr_indices(1, kMaxMrs, random_start(2) % 4096) {
  listener_ = File(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) throw_errno("socket(AF_UNIX)");
  slot_ = bind_slot(listener_.get());
  file_.commit(0, kPage);
  self_ = Peer::self(file_.descriptor(), slot_);
  SegmentHeader& header = segment().header();
  header.slot = slot_;
  header.pid = ::getpid();
  header.magic = kSegmentMagic;
}

void Process::start_agent() {
  if (::listen(listener_.get(), 128) != 0) throw_errno("listen(weft-soft)");
  agent_ = std::make_unique<Agent>(*this, listener_.get());
}

void Process::after_fork_in_child() noexcept {
  listener_.reset();
  agent_->close_connections();
  agent_->unlock_connections();
}

void Process::await_doorbell(std::uint32_t heard, const timespec* interval) noexcept {
  progress_sleeps_ = interval == nullptr;
  ::syscall(SYS_futex, &segment().header().doorbell, FUTEX_WAIT, heard, interval, nullptr, 0);
  progress_sleeps_ = false;
}

void Process::wake_progress() noexcept {
  Shared32& bell = segment().header().doorbell;
  bell.fetch_add(1);
  if (progress_sleeps_.load()) {
    ::syscall(SYS_futex, &bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

std::shared_ptr<Peer> Process::known_peer(std::uint32_t slot) noexcept {
  std::lock_guard lock(peers_mutex_);
  const auto known = peers_.find(slot);
  return known != peers_.end() && !known->second->dead() ? known->second : nullptr;
}

std::shared_ptr<Peer> Process::peer(std::uint32_t slot) noexcept {
  if (slot == slot_) return self_;
  if (auto known = known_peer(slot)) return known;
  std::lock_guard attaching(attach_mutex_);
  if (auto known = known_peer(slot)) return known;
  try {
    auto peer = Peer::attach(slot);
    {
      std::lock_guard lock(peers_mutex_);
      peers_[slot] = peer;
    }
    agent_->watch(*peer);
    return peer;
  } catch (const std::exception& error) {
    log::debug("{}", error.what());
    return nullptr;
  }
}

std::shared_ptr<Peer> Process::living_peer(std::uint32_t slot) noexcept {
  auto found = peer(slot);
  if (!found || !found->hung_up()) return found;
  found->mark_dead();
  return peer(slot);
}

void Process::peer_hung_up(std::uint32_t slot) noexcept {
  {
    std::lock_guard lock(peers_mutex_);
    const auto known = peers_.find(slot);
    if (known == peers_.end()) return;
    known->second->mark_dead();
  }
  wake_progress();
}

void Process::publish_region(std::uint32_t index, std::uint32_t epoch, SharedFile file) {
  std::lock_guard lock(published_mutex_);
  regions_[index] = {epoch, std::move(file)};
}

void Process::withdraw_region(std::uint32_t index) noexcept {
  std::lock_guard lock(published_mutex_);
  regions_.erase(index);
}

void Process::with_region(std::uint32_t index, std::uint32_t epoch,
                          const std::function<void(const SharedFile*)>& use) {
  std::lock_guard lock(published_mutex_);
  const auto region = regions_.find(index);
  const bool found = region != regions_.end() && region->second.epoch == epoch;
  use(found ? &region->second.file : nullptr);
}

std::uint32_t Process::publish_channel(int descriptor) {
  std::lock_guard lock(published_mutex_);
  channels_.emplace(next_channel_, descriptor);
  return next_channel_++;
}

void Process::withdraw_channel(std::uint32_t id) noexcept {
  std::lock_guard lock(published_mutex_);
  channels_.erase(id);
}

void Process::with_channel(std::uint32_t id, const std::function<void(int)>& use) {
  std::lock_guard lock(published_mutex_);
  const auto channel = channels_.find(id);
  use(channel != channels_.end() ? channel->second : -1);
}

}  // namespace weft::soft
