// Post: short messages between processes of MPI_COMM_WORLD by the host's point-to-point calls, for
// set-ups. No call of it is collective but its making, so communicators that are set up in several
// threads at once, in another order on each rank, do not stand in each other's way.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::mpi {

/// Messages carry a context number, and are received by it: those of one context between two ranks
/// arrive in order, those of different contexts do not meet. Safe from many threads where the host
/// is.
class Post {
 public:
  /// Collective over MPI_COMM_WORLD: makes the communicator that messages travel on.
  Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  ~Post();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// A message on its way. Its destructor waits until the host has taken it.
  class Sending {
   public:
    Sending() = default;
    Sending(Sending&&) noexcept;
    Sending& operator=(Sending&&) = delete;
    ~Sending();

   private:
    friend class Post;
    std::vector<char> bytes_;  // no string: a short one would move with this object
    MPI_Request request_ = MPI_REQUEST_NULL;
  };
  /// Error names the call of the host that failed.
  [[nodiscard]] Sending send(int to, std::uint64_t context, std::string_view text);
  /// Waits for the next message of the context from world rank `from`.
  std::string receive(int from, std::uint64_t context);

  /// Lets the host move messages that the program began before.
  void progress();

 private:
  using Key = std::pair<int, std::uint64_t>;  // sender, context

  int tag_of(std::uint64_t context) const noexcept;
  bool take_kept(const Key& key, std::string& text);
  bool take_arrived(const Key& key, std::string& text);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::uint64_t tags_ = 1;  // that the host allows
  std::mutex mutex_;
  std::map<Key, std::deque<std::string>> kept_;  // of contexts that share a tag with another one
};

}  // namespace weft::mpi
