// Sensitivity of a choice to the numbers of a profile that are estimates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nic_profiles/profile.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

/// An estimate changed by `factor` under which another algorithm is the fastest.
struct Change {
  std::string path;  ///< of the number, as "adapter.post_ns"
  double factor = 1;
  std::string chosen;    ///< the fastest then
  double time_ns = 0;    ///< its time then
  double before_ns = 0;  ///< the time then of the algorithm that is the fastest without the change
};

struct Sensitivity {
  std::vector<std::string> kept;  ///< estimates that cannot be halved: 0, "all", true or false
  int variations = 0;             ///< compared: two for each other estimate
  int candidates = 0;             ///< in each variation: the fastest predictions
  std::vector<Change> changes;    ///< in the order of the profile
};

/// Chooses anew with each estimate of `profile` halved and doubled, the others as they are.
/// `predictions` are those of choose() for the same problem and facts, all simulated. Compared are
/// the fastest of them, up to twice the time of the best: a number that is doubled or halved does
/// not change a time by more, thresholds aside. Of these, as many as 2^19 ops of plans allow, two
/// at the least: at most about half a second for a variation of up to 512 ranks.
Sensitivity sensitivity(const plan::Problem& problem, const Facts& facts,
                        const nic_profiles::Profile& profile,
                        const std::vector<Prediction>& predictions,
                        const std::function<void(int done, int total)>& progress = nullptr);

}  // namespace weft::tune
