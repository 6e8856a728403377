// Group bootstrap: a Bootstrap of some ranks of MPI_COMM_WORLD by Post, without a collective or a
// communicator of the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/world/post.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// A rank that cannot go on, as another one is lost, tells the others of the group, which wait for
/// it, perhaps: each gets PeerError.
class GroupBootstrap final : public Bootstrap {
 public:
  /// `members`: the world ranks of the group, this process among them. `context`: the same on all
  /// of them, and of no other group of theirs that lives. `post` lives longer.
  GroupBootstrap(Post& post, std::vector<int> members, std::uint64_t context);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  // By trees (comm/bootstrap/tree.hpp).
  std::vector<std::string> allgather(std::string_view mine) override;
  std::string combine(std::string_view mine, const Merge& merge) override;
  std::vector<std::string> gather_among(std::span<const int> members,
                                        std::string_view mine) override;
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override;
  void progress() override { post_.progress(); }
  void give_up(std::string_view why) override { post_.give_up(members_, context_, why); }

 private:
  struct Messages;
  template <class Body>
  auto tell_failure(Body body);
  int world_rank(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  Post& post_;
  std::vector<int> members_;
  std::uint64_t context_;
  int rank_ = 0;
};

}  // namespace weft::mpi
