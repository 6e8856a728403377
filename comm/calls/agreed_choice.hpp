// Agreed choice: the algorithm of each call, the same on all ranks of a communicator. Rank 0 finds
// the profile of the adapter and makes the choices that are simulated; tune::Chooser decides.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "comm/setup/resources.hpp"
#include "plan/problem.hpp"
#include "tune/chooser.hpp"

namespace weft::comm {

class AgreedChoice {
 public:
  /// Where there are several nodes rank 0 finds the profile, and on any machine the table that is
  /// set. Collective.
  explicit AgreedChoice(Resources& resources);
  /// Of a communicator on one node, as if no rank read its neighbours' buffers. Not collective.
  static AgreedChoice by_stages(Resources& resources);

  /// Of the profile, for the report; empty: there is none.
  const std::string& profile_name() const noexcept { return profile_name_; }
  bool is_by_stages() const noexcept { return is_by_stages_; }
  /// As rank 0 would choose; asks nobody.
  tune::Algorithm algorithm_for(const plan::Problem& problem) const {
    return chooser_.choose(problem);
  }
  /// Where each rank chooses alone, and alike; nullopt where agree() is needed.
  std::optional<tune::Algorithm> choose_alone(const plan::Problem& problem);
  /// On one node, as if no rank read its neighbours' buffers: each rank alone, and alike.
  tune::Algorithm choose_by_stages(const plan::Problem& problem) const {
    return chooser_.choose_by_stages(problem);
  }
  /// Rank 0 chooses for all. Collective.
  tune::Algorithm agree(const plan::Problem& problem);

  /// Of alltoallvs that algorithm_for() gives `base`: what rank 0 is to tell all, as
  /// tune::SlotChoice; nothing where none of them goes in slots, which all ranks know alike.
  std::optional<std::function<std::string()>> slots_for(const tune::Algorithm& base) const;

  /// Leaves a note where an algorithm that was asked for by name may not run for the problem.
  void note_passed_over(const plan::Problem& problem);
  /// Leaves a note where another algorithm than `only` was asked for by name: `call` takes no
  /// other, for `reason`.
  void note_other_than(std::string_view only, plan::Collective collective, std::string_view call,
                       const std::string& reason);

 private:
  AgreedChoice(Resources& resources, tune::Situation situation)
      : resources_(resources), chooser_(std::move(situation)) {}
  tune::AdapterKnowledge look_up();
  void note_not_taken(plan::Collective collective, std::string_view algorithm,
                      std::string_view call, const std::string& reason);

  Resources& resources_;
  tune::Chooser chooser_;
  std::string profile_name_;
  bool is_by_stages_ = false;
  std::set<std::string> noted_;  // algorithms not taken, with reasons: each is noted once
};

}  // namespace weft::comm
