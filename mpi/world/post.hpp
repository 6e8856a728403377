// Post: short messages between processes of MPI_COMM_WORLD by the host's point-to-point calls, for
// set-ups. No call of it is collective but its making, so communicators that are set up in several
// threads at once, in another order on each rank, do not stand in each other's way.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::mpi {

/// Messages carry a context number, and are received by it: those of one context between two ranks
/// arrive in order, those of different contexts do not meet. Safe from many threads where the host
/// is, and from fibers.
///
/// A message travels in pieces that no host sends by a protocol in which the receiver has a part:
/// the end of such a one may need progress of ranks that are in MPI_Finalize already. (MPICH 4.0
/// over UCX's TCP does not end after a last message of 8 KiB.)
class Post {
 public:
  /// Collective over MPI_COMM_WORLD: makes the communicator that messages travel on.
  Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  ~Post();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// A message on its way. Its destructor waits until the host has taken it, or the receiver is
  /// lost.
  class Sending {
   public:
    Sending() = default;
    Sending(Sending&&) noexcept = default;
    Sending& operator=(Sending&&) = delete;
    ~Sending();

   private:
    friend class Post;
    Post* post_ = nullptr;
    int to_ = 0;
    std::vector<char> bytes_;  // of all pieces. No string: a short one would move with this object
    std::vector<MPI_Request> requests_;
  };
  /// Error names the call of the host that failed.
  [[nodiscard]] Sending send(int to, std::uint64_t context, std::string_view text);
  /// Waits for the next message of the context from world rank `from`. PeerError where none will
  /// come: the rank is lost, or has given the context up.
  std::string receive(int from, std::uint64_t context);
  /// The same, if there is one: else false, and nothing was done. Does not wait.
  bool receive_if_there(int from, std::uint64_t context, std::string& text) {
    return take({from, context}, text);
  }
  /// Tells the world ranks `to` that this one takes no further part in the context: where they wait
  /// for it they get PeerError with `why`. Waits for nobody.
  void give_up(std::span<const int> to, std::uint64_t context, std::string_view why);

  /// Why nothing will come from a world rank for which this one has waited so long; empty: it may.
  using Lost = std::function<std::string(int rank, std::int64_t waited_ns)>;
  /// What receive() asks about once a second. To be set while nobody receives.
  void set_lost(Lost lost) { lost_ = std::move(lost); }

  /// Lets the host move messages that the program began before.
  void progress();
  /// What else is to be moved on, by progress() and while receive() waits.
  void set_others(bool (*others)() noexcept) noexcept {
    others_.store(others, std::memory_order_relaxed);
  }

 private:
  using Key = std::pair<int, std::uint64_t>;  // sender, context
  /// What precedes each piece.
  struct Header {
    std::uint64_t context = 0;
    std::uint64_t rest = 0;  // bytes of the message in pieces that follow, or kGivenUp
  };
  static constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};
  /// Of one key: what has arrived and nobody has taken.
  struct Arrived {
    std::deque<std::string> messages;
    std::string begun;     // pieces of the next one
    std::string given_up;  // why there will be no further message; empty: there may be
  };

  int tag_of(std::uint64_t context) const noexcept;
  void move_others() noexcept {
    const auto others = others_.load(std::memory_order_relaxed);
    if (others != nullptr) others();
  }
  const char* keep(std::vector<char> bytes);
  bool finish(MPI_Request& request, int to) noexcept;
  bool take(const Key& key, std::string& text);
  bool take_arrived(const Key& key, std::string& text);
  bool receive_piece(const Key& key);
  void drop_arrived() const noexcept;
  MPI_Request send_piece(int to, std::span<const char> piece, std::uint64_t context);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::uint64_t tags_ = 1;  // that the host allows
  std::atomic<bool (*)() noexcept> others_{nullptr};
  std::atomic<bool> is_taking_{false};
  std::map<Key, Arrived> arrived_;
  Lost lost_;
  std::mutex kept_mutex_;
  std::deque<std::vector<char>> kept_;  // what the host may still read, for ranks that are lost
};

}  // namespace weft::mpi
