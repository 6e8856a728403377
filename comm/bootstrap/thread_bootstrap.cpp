// Bootstrap for ranks that are threads of this process.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>

#include "base/error.hpp"
#include "comm/bootstrap/tree.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace {

/// The memory that the threads share: a mailbox for each rank.
class Post {
 public:
  explicit Post(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {}

  void put(int from, int to, std::string text) {
    Box& box = box_of(to);
    const std::lock_guard lock(box.mutex);
    box.texts[from].push_back(std::move(text));
    if (box.waits_for == from) box.arrived.notify_one();
  }
  std::string take(int from, int to) {
    Box& box = box_of(to);
    std::unique_lock lock(box.mutex);
    auto& texts = box.texts[from];
    box.waits_for = from;
    box.arrived.wait(lock, [&] { return !texts.empty() || box_of(from).has_left; });
    box.waits_for = kNobody;
    if (texts.empty()) throw PeerError(box_of(from).why);
    std::string text = std::move(texts.front());
    texts.pop_front();
    if (texts.empty()) box.texts.erase(from);
    return text;
  }
  /// What it has put before stays there.
  void leave(int rank, std::string why) {
    if (box_of(rank).has_left) return;
    box_of(rank).why = std::move(why);
    box_of(rank).has_left = true;
    for (Box& box : boxes_) {
      // A rank says that it waits before it looks whether the other has left.
      if (box.waits_for != rank) continue;
      const std::lock_guard lock(box.mutex);
      box.arrived.notify_one();
    }
  }

 private:
  static constexpr int kNobody = -1;
  struct Box {
    std::mutex mutex;
    std::condition_variable arrived;               // its owner waits, nobody else
    std::map<int, std::deque<std::string>> texts;  // by sender
    std::atomic<int> waits_for{kNobody};
    std::atomic<bool> has_left{false};
    std::string why;  // of one that has left
  };
  Box& box_of(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }

  std::vector<Box> boxes_;
};

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<Post> post, int rank, int size)
      : post_(std::move(post)), rank_(rank), size_(size) {}
  ~ThreadBootstrap() override {
    post_->leave(rank_, fmt::format("rank {} has left before the others", rank_));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    std::vector<int> all(static_cast<std::size_t>(size_));
    std::iota(all.begin(), all.end(), 0);
    return gather_among(all, mine);
  }
  std::string combine(std::string_view mine, const Merge& merge) override {
    return tell_failure(
        [&] { return comm::combine_by_tree(messages(), rank_, size_, mine, merge); });
  }
  std::vector<std::string> gather_among(std::span<const int> members,
                                        std::string_view mine) override {
    return tell_failure([&] { return comm::gather_by_tree(messages(), rank_, members, mine); });
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return tell_failure([&] {
      for (std::size_t i = 0; i < peers.size(); ++i) post_->put(rank_, peers[i], mine[i]);
      std::vector<std::string> theirs;
      for (const int peer : peers) theirs.push_back(post_->take(peer, rank_));
      return theirs;
    });
  }

  void give_up(std::string_view why) override { post_->leave(rank_, std::string(why)); }

 private:
  /// A rank that cannot go on, as another one has left, tells those that wait for it.
  template <class Body>
  std::invoke_result_t<Body> tell_failure(Body body) {
    try {
      return body();
    } catch (const PeerError& error) {
      give_up(error.what());
      throw;
    }
  }
  comm::PointToPoint messages() {
    return {[this](int to, std::string text) { post_->put(rank_, to, std::move(text)); },
            [this](int from) { return post_->take(from, rank_); }};
  }

  std::shared_ptr<Post> post_;
  int rank_;
  int size_;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int ranks) {
  if (ranks < 1) throw_usage("{} threads: a communicator has at least 1 rank", ranks);
  auto post = std::make_shared<Post>(ranks);
  std::vector<std::unique_ptr<Bootstrap>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<ThreadBootstrap>(post, rank, ranks));
  }
  return all;
}

}  // namespace weft
