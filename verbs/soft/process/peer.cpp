#include "verbs/soft/process/peer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/foreign_file.hpp"
#include "base/log.hpp"
#include "verbs/soft/segment/clock.hpp"

namespace weft::soft {

namespace {

/// A stopped or wedged target must not stop its requesters for good.
constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};
constexpr std::size_t kMaxKeptChannels = 64;
constexpr std::size_t kMaxParts = kMaxSge + 2;

File connect_to_slot(std::uint32_t slot, pid_t& pid) {
  File socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) throw_errno("socket(AF_UNIX)");
  const SlotAddress address(slot);
  const auto* name = reinterpret_cast<const sockaddr*>(address.storage);
  while (::connect(socket.get(), name, address.length) != 0) {
    if (errno == EINTR) continue;  // while the queue was full: as if it had not been called
    throw_errno(fmt::format("connect(weft-soft slot {})", slot));
  }
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    throw_errno("getsockopt(SO_PEERCRED)");
  }
  if (credentials.uid != ::geteuid()) {
    throw SystemError(fmt::format("slot {} belongs to user {}", slot, credentials.uid), EPERM);
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  pid = credentials.pid;
  return socket;
}

/// An errno value when there is no answer; what the peer answered is in `reply`.
int exchange(int socket, const Request& request, Reply& reply, std::span<const iovec> out,
             std::span<const iovec> in, File* passed) noexcept {
  if (out.size() >= kMaxParts || in.size() >= kMaxParts) return E2BIG;
  std::array<iovec, kMaxParts> parts;
  parts[0] = {const_cast<Request*>(&request), sizeof(request)};
  std::copy(out.begin(), out.end(), parts.begin() + 1);
  if (const int error = send_packet(socket, {parts.data(), out.size() + 1})) return error;
  parts[0] = {&reply, sizeof(reply)};
  std::copy(in.begin(), in.end(), parts.begin() + 1);
  std::size_t bytes = 0;
  if (const int error = receive_packet(socket, {parts.data(), in.size() + 1}, bytes, passed)) {
    return error;
  }
  return bytes < sizeof(reply) ? EPROTO : 0;
}

}  // namespace

Peer::Peer(int segment_descriptor, std::uint32_t slot) : segment_(segment_descriptor), slot_(slot) {
  void* table = ::mmap(nullptr, kMaxMrs * sizeof(Region), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) throw_errno("mmap(table of mapped regions)");
  regions_ = static_cast<Region*>(table);
}

Peer::~Peer() {
  ::munmap(static_cast<void*>(regions_), kMaxMrs * sizeof(Region));
}

Peer::Range::~Range() {
  if (!memory.empty()) ::munmap(memory.data(), memory.size());
}

std::shared_ptr<Peer> Peer::attach(std::uint32_t slot) {
  pid_t pid = 0;
  File connection = connect_to_slot(slot, pid);
  // The answer shows that the process was there after this, so this is of it and of no later one.
  auto process = ProcessHandle::of({.number = pid});
  const Request request = {.kind = RequestKind::segment};
  Reply reply{};
  File file;
  int error = exchange(connection.get(), request, reply, {}, {}, &file);
  if (error == 0) error = reply.error;
  if (error != 0) {
    throw SystemError(fmt::format("asking weft-soft slot {} for its segment", slot), error);
  }
  if (!file) throw SystemError(fmt::format("weft-soft slot {} sent no segment", slot), EPROTO);
  const std::string why_not = why_not_safe_to_map(file.get(), kSegmentBytes);
  if (!why_not.empty()) {
    throw SystemError(fmt::format("segment of weft-soft slot {}: {}", slot, why_not), EPROTO);
  }
  std::shared_ptr<Peer> peer(new Peer(file.get(), slot));
  const SegmentHeader& header = peer->segment_.header();
  if (header.magic != kSegmentMagic || header.slot != slot) {
    throw SystemError(fmt::format("weft-soft slot {} is of another version", slot), EPROTO);
  }
  peer->pid_ = pid;
  peer->process_ = std::move(process);
  peer->connection_ = std::move(connection);
  return peer;
}

std::shared_ptr<Peer> Peer::self(int segment_descriptor, std::uint32_t slot) {
  std::shared_ptr<Peer> peer(new Peer(segment_descriptor, slot));
  peer->pid_ = ::getpid();
  peer->is_self_ = true;
  return peer;
}

void Peer::mark_dead() noexcept {
  std::int64_t alive = 0;
  died_at_ns_.compare_exchange_strong(alive, now_ns());
}

bool Peer::hung_up() const noexcept {
  // While another thread asks it something it is there, or that one finds that it is not.
  const std::unique_lock lock(exchange_mutex_, std::try_to_lock);
  if (!lock) return false;
  pollfd end = {.fd = connection_.get(), .events = POLLRDHUP, .revents = 0};
  return !is_self_ && ::poll(&end, 1, 0) == 1;
}

int Peer::ask(const Request& request, Reply& reply, std::span<const iovec> out,
              std::span<const iovec> in, File* passed) noexcept {
  if (dead()) return ECONNRESET;
  std::lock_guard lock(exchange_mutex_);
  try {
    if (!connection_) connection_ = connect_to_slot(slot_, pid_);
  } catch (const SystemError& error) {
    return error.error();
  }
  const int error = exchange(connection_.get(), request, reply, out, in, passed);
  if (error != 0 && error != E2BIG) {
    // The answer may still come and would be taken for the next one's: the connection is spent.
    log::warn("slot {}: its agent does not answer", slot_);
    ::shutdown(connection_.get(), SHUT_RDWR);
  }
  return error != 0 ? error : reply.error;
}

std::byte* Peer::map_region(std::uint32_t index, const MrEntry& entry) noexcept {
  std::lock_guard lock(region_mutex_);
  Region& region = regions_[index];
  const std::uint32_t epoch = entry.epoch.load(std::memory_order_relaxed);
  if (region.epoch.load(std::memory_order_acquire) == epoch) return region.base.load();

  drop_stale_regions();
  std::byte* base = nullptr;
  if (is_self_) {
    base = reinterpret_cast<std::byte*>(entry.address);
  } else if (entry.shared != 0) {
    Range range = map_file(index, entry);
    if (!range.memory.empty()) base = range.memory.data() + entry.address % kPage;
    try {
      ranges_.emplace(index, std::move(range));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  region.base.store(base, std::memory_order_relaxed);
  region.epoch.store(epoch, std::memory_order_release);
  return base;
}

Peer::Range Peer::map_file(std::uint32_t index, const MrEntry& entry) noexcept {
  Range range;
  range.epoch = entry.epoch.load(std::memory_order_relaxed);
  const Request request = {.kind = RequestKind::region, .id = index, .epoch = range.epoch};
  Reply reply{};
  File file;
  int error = ask(request, reply, {}, {}, &file);
  if (error == 0 && file) {
    const int flags = ::fcntl(file.get(), F_GETFL);
    const bool writable = flags < 0 || (flags & O_ACCMODE) == O_RDWR;  // else mmap will refuse
    const std::size_t bytes = entry.length + entry.address % kPage;
    // To touch what lies behind the end of a file would be SIGBUS here; the peer's copy says so.
    void* memory = MAP_FAILED;
    errno = ENXIO;
    if (reaches(file.get(), reply.value, bytes)) {
      memory = ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      file.get(), static_cast<off_t>(reply.value));
    }
    error = memory == MAP_FAILED ? errno : 0;
    if (error == 0) range.memory = {static_cast<std::byte*>(memory), bytes};
  }
  if (error != 0) {
    log::info("slot {}: region {} cannot be mapped (error {}), it is copied", slot_, index, error);
  }
  return range;
}

void Peer::drop_stale_regions() noexcept {
  // An epoch moves only after every requester has left the region, this process's threads too.
  std::erase_if(ranges_, [this](const auto& item) {
    return item.second.epoch != segment_.mr(item.first).epoch.load(std::memory_order_acquire);
  });
}

void Peer::raise_event(std::uint32_t channel) noexcept {
  const std::uint64_t one = 1;
  std::lock_guard lock(channel_mutex_);
  try {
    auto known = channels_.find(channel);
    if (known == channels_.end()) {
      const Request request = {.kind = RequestKind::channel, .id = channel};
      Reply reply{};
      File file;
      if (ask(request, reply, {}, {}, &file) != 0 || !file) return;
      // Channels that the peer destroyed are never asked for again: nothing is lost by forgetting.
      if (channels_.size() >= kMaxKeptChannels) channels_.clear();
      known = channels_.emplace(channel, std::move(file)).first;
    }
    [[maybe_unused]] const auto written = ::write(known->second.get(), &one, sizeof(one));
  } catch (const std::bad_alloc&) {
    log::warn("slot {}: no memory to raise a completion event", slot_);
  }
}

}  // namespace weft::soft
