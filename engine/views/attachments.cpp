#include "engine/views/attachments.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>

#include "base/cast.hpp"
#include "engine/views/xpmem.hpp"

namespace weft::engine {

namespace {

constexpr std::uint64_t kPage = 4096;

// Read by the handler, in the thread that it interrupts. Static thread-local storage, as a handler
// must not allocate, which the dynamic kind does at its first use.
[[gnu::tls_model("initial-exec")]] thread_local Attachments* guarded = nullptr;

struct sigaction previous;

}  // namespace

/// The process's handler of SIGBUS. Passes on faults at other addresses to the previous handler.
struct FaultHandler {
  static void handle(int number, siginfo_t* info, void* context) {
    Attachments* home = guarded;
    if (home != nullptr && home->replace(static_cast<const std::byte*>(info->si_addr))) return;
    if ((previous.sa_flags & SA_SIGINFO) != 0) {
      previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
      previous.sa_handler(number);
    } else {
      // The instruction is repeated and ends the process.
      ::signal(SIGBUS, SIG_DFL);
    }
  }
};

void Attachments::install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = &FaultHandler::handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous);
  });
}

Attachments::Guard::Guard(Attachments& home) noexcept : home_(home), outer_(guarded) {
  home_.fault_ = false;
  guarded = &home_;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

bool Attachments::Guard::is_good() const noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return !home_.fault_;
}

Attachments::Guard::~Guard() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guarded = outer_;
  if (home_.fault_) home_.drop_lost();
}

/// Maps empty memory at the piece's address, where the failed instruction continues. detach() has
/// to unmap the piece first; if another thread maps something there in between, the process ends.
bool Attachments::replace(const std::byte* address) noexcept {
  for (Peer& peer : peers_) {
    for (Piece& piece : peer.pieces) {
      if (address < piece.memory || address >= piece.memory + piece.bytes || piece.lost) continue;
      xpmem::detach(piece.memory);
      const void* empty =
          ::mmap(piece.memory, piece.bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
      if (empty != piece.memory) return false;
      piece.lost = true;
      fault_ = true;
      return true;
    }
  }
  return false;
}

Attachments::~Attachments() {
  for (Peer& peer : peers_) {
    while (!peer.pieces.empty()) drop(peer, peer.pieces.size() - 1);
    if (peer.access != 0) xpmem::release(peer.access);
  }
}

bool Attachments::connect(int place, std::int64_t segment) {
  Peer& peer = peers_[static_cast<std::size_t>(place)];
  if (segment == 0 || peer.access != 0) return peer.access != 0;
  install_handler();
  peer.pieces.reserve(kMostPieces + 1);
  peer.access = xpmem::get(segment);
  return peer.access != 0;
}

void Attachments::drop(Peer& peer, std::size_t piece) noexcept {
  const Piece& gone = peer.pieces[piece];
  gone.lost ? static_cast<void>(::munmap(gone.memory, gone.bytes)) : xpmem::detach(gone.memory);
  peer.bytes -= gone.bytes;
  peer.pieces.erase(peer.pieces.begin() + static_cast<std::ptrdiff_t>(piece));
}

/// Forgets a peer with a missing page: its memory is reached by other views from then on.
void Attachments::drop_lost() noexcept {
  for (Peer& peer : peers_) {
    if (std::ranges::none_of(peer.pieces, &Piece::lost)) continue;
    while (!peer.pieces.empty()) drop(peer, peer.pieces.size() - 1);
    xpmem::release(peer.access);
    peer.access = 0;
  }
}

/// Null when refused.
Attachments::Piece* Attachments::attach(Peer& peer, std::uint64_t begin,
                                        std::uint64_t end) noexcept {
  std::byte* memory = xpmem::attach(peer.access, begin, end - begin);
  if (memory == nullptr) return nullptr;
  for (std::size_t i = peer.pieces.size(); i-- > 0;) {
    const Piece& old = peer.pieces[i];
    const bool covered = old.begin >= begin && old.begin + old.bytes <= end;
    if (covered && old.turn != turn_) drop(peer, i);
  }
  // Those of this turn come last, if there are any.
  while (!peer.pieces.empty() && peer.pieces.front().turn != turn_ &&
         (peer.pieces.size() >= kMostPieces || peer.bytes + (end - begin) > kMostBytes)) {
    drop(peer, 0);
  }
  peer.pieces.push_back({begin, end - begin, memory, turn_, false});
  peer.bytes += end - begin;
  return &peer.pieces.back();
}

std::byte* Attachments::find(int place, std::uint64_t address, std::uint64_t bytes) noexcept {
  Peer& peer = peers_[static_cast<std::size_t>(place)];
  if (peer.access == 0 || bytes == 0) return nullptr;
  const auto found = std::find_if(peer.pieces.rbegin(), peer.pieces.rend(), [&](const Piece& one) {
    return address >= one.begin && address - one.begin + bytes <= one.bytes;
  });
  if (found != peer.pieces.rend()) {
    std::byte* memory = found->memory + (address - found->begin);
    found->turn = turn_;
    std::rotate(found.base() - 1, found.base(), peer.pieces.end());
    return memory;
  }
  const std::uint64_t end = address + bytes;
  const Piece* piece = attach(peer, address / kGranule * kGranule, round_up(end, kGranule));
  if (piece == nullptr) piece = attach(peer, address / kPage * kPage, round_up(end, kPage));
  return piece == nullptr ? nullptr : piece->memory + (address - piece->begin);
}

bool Attachments::touch(const verbs::Layout& layout) noexcept {
  const Guard guard(*this);
  for (std::uint64_t i = 0; i < layout.count; ++i) {
    const volatile std::byte* block = layout.base + i * layout.stride;
    for (std::uint64_t at = 0; at < layout.block_bytes; at += kPage) {
      static_cast<void>(block[at]);
    }
    if (layout.block_bytes != 0) static_cast<void>(block[layout.block_bytes - 1]);
  }
  return guard.is_good();
}

}  // namespace weft::engine
