#include "verbs/soft/process/transfer.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/log.hpp"
#include "verbs/soft/process/device_settings.hpp"

namespace weft::soft {

namespace {

using Window = std::array<iovec, kMaxSge + 1>;

/// Walks over local pieces.
class Cursor {
 public:
  explicit Cursor(const LocalPieces& pieces) noexcept : pieces_(&pieces) {}

  /// The pieces of the next `bytes`, which are there; moves past them.
  std::span<iovec> take(std::size_t bytes, Window& window) noexcept {
    std::size_t count = 0;
    while (bytes > 0) {
      const iovec& piece = pieces_->piece[index_];
      const std::size_t part = std::min(bytes, piece.iov_len - offset_);
      if (part > 0) {
        window[count++] = {static_cast<std::byte*>(piece.iov_base) + offset_, part};
      }
      offset_ += part;
      bytes -= part;
      if (offset_ == piece.iov_len) {
        ++index_;
        offset_ = 0;
      }
    }
    return {window.data(), count};
  }

 private:
  const LocalPieces* pieces_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

/// The number of bytes behind the last boundary of 8 before `end` (8 when `end` is on one), at most
/// `length`: those that must appear last.
std::size_t tail_bytes(std::uint64_t end, std::size_t length) noexcept {
  const std::size_t odd = end % 8;
  return std::min(length, odd == 0 ? std::size_t{8} : odd);
}

template <class Word>
void release_word(std::byte* to, const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
}

/// At most 8 bytes, none across a boundary of 8, in as few and as large stores as alignment allows.
void release_tail(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    std::size_t word = 8;
    while (word > bytes || address % word != 0) word /= 2;
    if (word == 8) release_word<std::uint64_t>(to, from);
    if (word == 4) release_word<std::uint32_t>(to, from);
    if (word == 2) release_word<std::uint16_t>(to, from);
    if (word == 1) release_word<std::uint8_t>(to, from);
    to += word;
    from += word;
    bytes -= word;
  }
}

/// Loopback allows regions that overlap.
void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (to < from + bytes && from < to + bytes) {
    std::memmove(to, from, bytes);
  } else {
    copy_bytes(to, from, bytes);
  }
}

void put_direct(Cursor& from, std::byte* to, std::size_t length, bool ordered) noexcept {
  const std::size_t tail =
      ordered ? tail_bytes(reinterpret_cast<std::uintptr_t>(to) + length, length) : 0;
  Window window;
  for (const iovec& piece : from.take(length - tail, window)) {
    move_bytes(to, static_cast<const std::byte*>(piece.iov_base), piece.iov_len);
    to += piece.iov_len;
  }
  std::array<std::byte, 8> word{};
  std::size_t filled = 0;
  for (const iovec& piece : from.take(tail, window)) {
    std::memcpy(word.data() + filled, piece.iov_base, piece.iov_len);
    filled += piece.iov_len;
  }
  release_tail(to, word.data(), tail);
}

void get_direct(Cursor& to, const std::byte* from, std::size_t length) noexcept {
  Window window;
  for (const iovec& piece : to.take(length, window)) {
    move_bytes(static_cast<std::byte*>(piece.iov_base), from, piece.iov_len);
    from += piece.iov_len;
  }
}

/// One range by process_vm_writev or process_vm_readv. 0 or errno.
int copy_by_kernel(Peer& peer, bool write, std::span<iovec> local, std::uint64_t address,
                   std::size_t length) noexcept {
  while (length > 0) {
    if (peer.has_ended()) return ESRCH;
    iovec remote = {reinterpret_cast<void*>(address), length};
    const ssize_t moved =
        write ? ::process_vm_writev(peer.pid(), local.data(), local.size(), &remote, 1, 0)
              : ::process_vm_readv(peer.pid(), local.data(), local.size(), &remote, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    auto skip = static_cast<std::size_t>(moved);
    address += skip;
    length -= skip;
    while (skip > 0 && skip >= local.front().iov_len) {
      skip -= local.front().iov_len;
      local = local.subspan(1);
    }
    if (skip > 0) {
      local.front().iov_base = static_cast<std::byte*>(local.front().iov_base) + skip;
      local.front().iov_len -= skip;
    }
  }
  return 0;
}

int copy_by_agent(Peer& peer, bool write, Cursor& local, std::uint64_t address,
                  std::size_t length) noexcept {
  Window window;
  while (length > 0) {
    const std::size_t part = std::min(length, kPacketBytes);
    const std::span<iovec> pieces = local.take(part, window);
    const Request request = {
        .kind = write ? RequestKind::put : RequestKind::get, .address = address, .length = part};
    Reply reply{};
    const std::span<const iovec> none;
    const int error = peer.ask(request, reply, write ? pieces : none, write ? none : pieces);
    if (error != 0) return error;
    address += part;
    length -= part;
  }
  return 0;
}

/// One range that is not mapped here.
int copy_range(Peer& peer, bool write, Cursor& local, std::uint64_t address,
               std::size_t length) noexcept {
  const Path path = settings().path;
  if (path == Path::direct) return EOPNOTSUPP;
  const bool try_kernel = path == Path::cma || (path == Path::automatic &&
                                                !peer.copy_refused.load(std::memory_order_relaxed));
  if (try_kernel) {
    Window window;
    const Cursor before = local;
    const int error = copy_by_kernel(peer, write, local.take(length, window), address, length);
    const bool refused = error == EPERM || error == ENOSYS;
    if (!refused || path == Path::cma) return error;
    log::info("process_vm_writev to process {} is refused (errno {}): its agent copies", peer.pid(),
              error);
    peer.copy_refused = true;
    local = before;
  }
  return copy_by_agent(peer, write, local, address, length);
}

}  // namespace

RemotePiece remote_piece(Peer& peer, std::uint32_t index, std::uint64_t offset,
                         std::size_t length) noexcept {
  const Path path = settings().path;
  const MrEntry& entry = peer.segment().mr(index);
  std::byte* first = path == Path::automatic || path == Path::direct ? peer.direct(index) : nullptr;
  return {entry.address + offset, length, first == nullptr ? nullptr : first + offset};
}

int put(Peer& peer, const LocalPieces& local, std::span<const RemotePiece> remote,
        Placement placement) noexcept {
  const bool ordered = placement == Placement::last_word_last;
  Cursor cursor(local);
  std::size_t left = local.bytes;
  for (const RemotePiece& piece : remote) {
    const std::size_t length = std::min(left, piece.length);
    if (length == 0) continue;
    left -= length;
    if (piece.direct != nullptr) {
      put_direct(cursor, piece.direct, length, ordered && left == 0);
      continue;
    }
    const std::size_t tail = ordered && left == 0 ? tail_bytes(piece.address + length, length) : 0;
    const std::size_t body = length - tail;
    if (body > 0) {
      if (const int error = copy_range(peer, true, cursor, piece.address, body)) return error;
    }
    if (tail > 0) {
      if (const int error = copy_range(peer, true, cursor, piece.address + body, tail)) {
        return error;
      }
    }
  }
  return 0;
}

int get(Peer& peer, const LocalPieces& local, const RemotePiece& remote) noexcept {
  if (local.bytes == 0) return 0;
  Cursor cursor(local);
  if (remote.direct == nullptr) return copy_range(peer, false, cursor, remote.address, local.bytes);
  get_direct(cursor, remote.direct, local.bytes);
  return 0;
}

int apply_atomic(Peer& peer, const RemotePiece& remote, AtomicOp op, std::uint64_t compare_add,
                 std::uint64_t swap, std::uint64_t& seen) noexcept {
  if (remote.direct != nullptr) {
    std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(remote.direct));
    seen = compare_add;
    if (op == AtomicOp::fetch_add) {
      seen = word.fetch_add(compare_add);
    } else {
      word.compare_exchange_strong(seen, swap);
    }
    return 0;
  }
  if (settings().path == Path::direct) return EOPNOTSUPP;
  // The kernel can copy but not compute, so the target's agent does the atomic operation.
  const bool add = op == AtomicOp::fetch_add;
  const Request request = {.kind = add ? RequestKind::fetch_add : RequestKind::compare_swap,
                           .address = remote.address,
                           .operand = add ? compare_add : swap,
                           .compare = compare_add};
  Reply reply{};
  const int error = peer.ask(request, reply, {}, {});
  seen = reply.value;
  return error;
}

}  // namespace weft::soft
