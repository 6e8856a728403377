// What a rank has mapped of the memory of other processes, by XPMEM, and keeps for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verbs/channel/message_layout.hpp"

namespace weft::engine {

/// Mapping memory, and the first touch of each of its pages, are far dearer than the copy itself:
/// pieces stay mapped for later calls, those used longest ago go when there are too many. A piece
/// that is kept stays right whatever its owner does, as the kernel follows the owner's mappings.
///
/// Single threaded, as what uses it; nothing is mapped until it is asked for.
class Attachments {
 public:
  /// Of one peer.
  static constexpr std::size_t kMostPieces = 64;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;
  /// Pieces begin and end at multiples of it where the device allows that: pages that are not
  /// touched cost nothing, and neighbouring buffers find theirs mapped.
  static constexpr std::uint64_t kGranule = 2 << 20;

  explicit Attachments(std::size_t places) : peers_(places) {}
  Attachments(const Attachments&) = delete;
  Attachments& operator=(const Attachments&) = delete;
  ~Attachments();

  /// `segment` is the peer's own_segment(); 0: it has none. Whether its memory can be mapped.
  bool connect(int place, std::int64_t segment);
  bool is_connected(int place) const noexcept { return peers_[place].access != 0; }

  /// Where this process finds `bytes` that lie at `address` of the peer; null when the device
  /// refuses. To be used within reach(), and there until its end.
  std::byte* find(int place, std::uint64_t address, std::uint64_t bytes) noexcept;

  /// Does `use`, which may read and write what find() returned. False when a page of that was not
  /// to be had, as its owner has none there or has ended: then what was read of it is 0, what was
  /// written is lost, and nothing of the kind is found of that peer any more.
  template <class Use>
  bool reach(Use use) noexcept {
    const Guard guard(*this);
    use();
    ++turn_;
    return guard.is_good();
  }
  /// Whether all pages of a layout can be read: then use of it may not be undone.
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
  /// While it lives a page of these that is not to be had is no end of the process.
  class Guard {
   public:
    explicit Guard(Attachments& home) noexcept;
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();
    bool is_good() const noexcept;

   private:
    Attachments& home_;
    Attachments* outer_;  // of who waits for this one: an operation of the caller's may do anything
  };

  Piece* attach(Peer& peer, std::uint64_t begin, std::uint64_t end) noexcept;
  static void drop(Peer& peer, std::size_t piece) noexcept;
  void drop_lost() noexcept;
  /// By the signal handler: whether the address is in one of the pieces, which is then empty.
  bool replace(const std::byte* address) noexcept;
  static void install_handler();
  friend struct FaultHandler;

  std::vector<Peer> peers_;  // by place
  std::uint64_t turn_ = 1;   // ends with reach()
  bool fault_ = false;       // since the guard
};

}  // namespace weft::engine
