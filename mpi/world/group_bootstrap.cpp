#include "mpi/world/group_bootstrap.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "comm/bootstrap/tree.hpp"

namespace weft::mpi {

GroupBootstrap::GroupBootstrap(Post& post, std::vector<int> members, std::uint64_t context)
    : post_(post), members_(std::move(members)), context_(context) {
  const auto here = std::ranges::find(members_, post_.rank());
  if (here == members_.end()) throw Error("a bootstrap of a group without this rank");
  rank_ = static_cast<int>(here - members_.begin());
}

/// Messages of one call. What it sends lives as long as this.
struct GroupBootstrap::Messages {
  std::vector<Post::Sending> sendings;
  comm::PointToPoint calls;

  explicit Messages(GroupBootstrap& group)
      : calls{
            .send =
                [this, &group](int to, const std::string& text) {
                  sendings.push_back(group.post_.send(group.world_rank(to), group.context_, text));
                },
            .receive =
                [&group](int from) {
                  return group.post_.receive(group.world_rank(from), group.context_);
                }} {}
};

template <class Body>
auto GroupBootstrap::tell_failure(Body body) {
  try {
    return body();
  } catch (const PeerError& error) {
    post_.give_up(members_, context_, error.what());
    throw;
  }
}

std::vector<std::string> GroupBootstrap::allgather(std::string_view mine) {
  std::vector<int> all(members_.size());
  std::iota(all.begin(), all.end(), 0);
  return gather_among(all, mine);
}

std::string GroupBootstrap::combine(std::string_view mine, const Merge& merge) {
  return tell_failure([&] {
    Messages messages(*this);
    return comm::combine_by_tree(messages.calls, rank_, size(), mine, merge);
  });
}

std::vector<std::string> GroupBootstrap::gather_among(std::span<const int> members,
                                                      std::string_view mine) {
  return tell_failure([&] {
    Messages messages(*this);
    return comm::gather_by_tree(messages.calls, rank_, members, mine);
  });
}

std::vector<std::string> GroupBootstrap::exchange(std::span<const int> peers,
                                                  std::span<const std::string> mine) {
  return tell_failure([&] {
    std::vector<Post::Sending> sendings;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      sendings.push_back(post_.send(world_rank(peers[i]), context_, mine[i]));
    }
    std::vector<std::string> result;
    for (const int peer : peers) result.push_back(post_.receive(world_rank(peer), context_));
    return result;
  });
}

}  // namespace weft::mpi
