// Attachments: a cache of mappings of other processes' memory, by xpmem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verbs/channel/message_layout.hpp"

namespace weft::engine {

/// Mapping memory, and the first touch of each of its pages, cost far more than the copy itself:
/// pieces stay mapped for later calls, and the least recently used ones are unmapped when there are
/// too many. A kept piece stays valid whatever its owner does, as the kernel follows the owner's
/// mappings.
///
/// Single threaded. Maps nothing until find() is called.
class Attachments {
 public:
  /// Of one peer.
  static constexpr std::size_t kMostPieces = 64;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;
  /// Pieces begin and end at multiples of it where the device allows that: pages that are not
  /// touched cost nothing, and neighbouring buffers are mapped already.
  static constexpr std::uint64_t kGranule = 2 << 20;

  explicit Attachments(std::size_t places) : peers_(places) {}
  Attachments(const Attachments&) = delete;
  Attachments& operator=(const Attachments&) = delete;
  ~Attachments();

  /// `segment` is the peer's own_segment(); 0: it has none. True when its memory can be mapped.
  bool connect(int place, std::int64_t segment);
  bool is_connected(int place) const noexcept { return peers_[place].access != 0; }

  /// The address in this process of `bytes` at `address` of the peer; null when the device refuses.
  /// Valid within reach(), until its end.
  std::byte* find(int place, std::uint64_t address, std::uint64_t bytes) noexcept;

  /// Calls `use`, which may read and write what find() returned. False when a page of that is
  /// missing, as its owner has none there or has ended: then the bytes read from it are 0, those
  /// written to it are lost, and find() returns null for that peer from then on.
  template <class Use>
  bool reach(Use use) noexcept {
    const Guard guard(*this);
    use();
    ++turn_;
    return guard.is_good();
  }
  /// True when all pages of a layout can be read: for uses that cannot be undone.
  bool touch(const verbs::Layout& layout) noexcept;

  std::size_t pieces(int place) const noexcept { return peers_[place].pieces.size(); }

 private:
  struct Piece {
    std::uint64_t begin = 0;  // in the peer
    std::uint64_t bytes = 0;
    std::byte* memory = nullptr;
    std::uint64_t turn = 0;  // in which it was found last
    bool lost = false;       // `memory` is private and empty, not the peer's
  };
  struct Peer {
    std::int64_t access = 0;
    std::vector<Piece> pieces;  // the one used last comes last
    std::uint64_t bytes = 0;
  };
  /// While it lives, a missing page of these pieces does not end the process.
  class Guard {
   public:
    explicit Guard(Attachments& home) noexcept;
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();
    bool is_good() const noexcept;

   private:
    Attachments& home_;
    Attachments* outer_;  // guarded before: operations of the caller's may use another one inside
  };

  Piece* attach(Peer& peer, std::uint64_t begin, std::uint64_t end) noexcept;
  static void drop(Peer& peer, std::size_t piece) noexcept;
  void drop_lost() noexcept;
  /// By the signal handler: if the address is in one of the pieces, makes that empty and returns
  /// true.
  bool replace(const std::byte* address) noexcept;
  static void install_handler();
  friend struct FaultHandler;

  std::vector<Peer> peers_;  // by place
  std::uint64_t turn_ = 1;   // ends with reach()
  bool fault_ = false;       // since the guard
};

}  // namespace weft::engine
