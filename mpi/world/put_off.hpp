// Agreements of a communicator's ranks that are put off until a call in which they may wait for one
// another.
//
// MPI allows a broadcast to return at its root only when all ranks have come. But Open MPI does not
// wait for them where little is sent, and there are programs that rely on it: one rank makes two
// broadcasts on two communicators in one order, the others in the other order. So in calls that may
// be left early (plan::may_be_left_early()) ranks agree on nothing: where they would have to, the
// host serves the call. What they are to agree on is put off until a call in which all of them wait
// anyway, or a blocking broadcast or scatter to which all of them come soon (meetings.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpi/world/race.hpp"
#include "plan/problem.hpp"

namespace weft::mpi {

/// Of one communicator. Each rank has its own, and they are alike.
class PutOff {
 public:
  struct Decision {
    Race* race;
    std::string what;  // names its calls
  };

  /// Calls of about this size, which weft would have to prepare. `bytes`: of a block; nothing where
  /// ranks know their own only.
  void add(plan::Collective collective, std::optional<std::uint64_t> bytes) {
    if (!contains(collective, bytes)) sizes_.push_back(size_of(collective, bytes));
  }
  bool contains(plan::Collective collective, std::optional<std::uint64_t> bytes) const noexcept {
    return std::ranges::find(sizes_, size_of(collective, bytes)) != sizes_.end();
  }
  /// Who has won a race. It lives longer.
  void add(Race& race, std::string what) {
    if (std::ranges::find(decisions_, &race, &Decision::race) == decisions_.end()) {
      decisions_.push_back({&race, std::move(what)});
    }
  }

  /// Nothing is put off any more; the decisions that were.
  std::vector<Decision> take() noexcept {
    sizes_.clear();
    return std::exchange(decisions_, {});
  }

 private:
  using Size = std::pair<plan::Collective, int>;
  static Size size_of(plan::Collective collective, std::optional<std::uint64_t> bytes) noexcept {
    return {collective, bytes ? static_cast<int>(std::bit_width(*bytes)) : -1};
  }

  std::vector<Size> sizes_;
  std::vector<Decision> decisions_;
};

}  // namespace weft::mpi
