// Bootstrap for ranks that are threads of this process.
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace {

/// The memory that the threads share: one mailbox for each ordered pair.
class Post {
 public:
  void put(int from, int to, std::string text) {
    const std::lock_guard lock(mutex_);
    boxes_[{from, to}].push_back(std::move(text));
    arrived_.notify_all();
  }
  std::string take(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty() || left_.contains(from); });
    if (box.empty()) throw PeerError(fmt::format("rank {} has left before the others", from));
    std::string text = std::move(box.front());
    box.pop_front();
    return text;
  }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_.insert(rank);
    arrived_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::string>> boxes_;
  std::set<int> left_;
};

class ThreadBootstrap final : public Bootstrap {
 public:
  ThreadBootstrap(std::shared_ptr<Post> post, int rank, int size)
      : post_(std::move(post)), rank_(rank), size_(size) {}
  ~ThreadBootstrap() override { post_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    for (int to = 0; to < size_; ++to) post_->put(rank_, to, std::string(mine));
    std::vector<std::string> all;
    for (int from = 0; from < size_; ++from) all.push_back(post_->take(from, rank_));
    return all;
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    for (std::size_t i = 0; i < peers.size(); ++i) post_->put(rank_, peers[i], mine[i]);
    std::vector<std::string> theirs;
    for (const int peer : peers) theirs.push_back(post_->take(peer, rank_));
    return theirs;
  }

 private:
  std::shared_ptr<Post> post_;
  int rank_;
  int size_;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int ranks) {
  if (ranks < 1) throw_usage("{} threads: a communicator has at least 1 rank", ranks);
  auto post = std::make_shared<Post>();
  std::vector<std::unique_ptr<Bootstrap>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<ThreadBootstrap>(post, rank, ranks));
  }
  return all;
}

}  // namespace weft
