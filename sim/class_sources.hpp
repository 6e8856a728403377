// Sources of a member: for each of its recvs and waits the op, of a member, that stands for the one
// from which its message or signal comes. Only files of sim/ include this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "sim/program.hpp"

namespace weft::sim {

/// Thrown where there are no classes.
struct NoClasses {
  std::string reason;
};

/// Ranks in a row, each of which waits for the one before.
inline constexpr int kMostDepth = 64;

/// What is known of ranks while classes are looked for.
class RankLookup {
 public:
  virtual ~RankLookup() = default;
  virtual std::shared_ptr<const plan::Plan> plan_of(int rank) = 0;
  /// The member of a rank's class, which is made where there is none.
  virtual int member_for(int rank) = 0;
  virtual int rank_of(int member) const = 0;
  /// Of its plan: shape_of().
  virtual std::uint64_t shape_at(int rank) = 0;
  /// The ranks in a row that wait for one another before it can begin.
  virtual int height_at(int rank) = 0;
};

/// In list order. Throws NoClasses where a message has no counterpart.
std::vector<Source> find_sources(RankLookup& ranks, const hierarchy::Machine& machine,
                                 const plan::Plan& plan);

}  // namespace weft::sim
