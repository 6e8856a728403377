// Chooser: the algorithm of each call of a communicator. All of its ranks choose the same.
//
// In this order: the algorithm asked for by name, the rule of the decision table, the one algorithm
// of a deterministic reduction, the simulated choice where a profile of the adapter is known, else
// the fixed rules. An algorithm asked for, by name or by a table, that may not run for a problem is
// skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hierarchy/machine.hpp"
#include "nic_profiles/store.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"
#include "tune/choice_cache.hpp"
#include "tune/decision_table.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// Facts about a communicator, the same on all of its ranks, and the algorithms that were asked
/// for.
struct Situation {
  hierarchy::Machine machine;
  Direct direct = Direct::none;                        // how neighbours' buffers are read
  Direct direct_alltoallv = Direct::none;              // the same for the buffers of an alltoallv
  bool deterministic = false;                          // WEFT_DETERMINISTIC
  bool crowded = false;                                // ranks of some host outnumber its cores
  sim::Host host = {};                                 // the one whose ranks share cores most
  std::uint64_t eager_bytes = 0;                       // larger messages go straight into place
  std::map<plan::Collective, std::string> asked = {};  // by name: WEFT_ALLTOALL and so on
};

/// The profile of the adapter and the decision table, as rank 0 finds them for all ranks.
struct AdapterKnowledge {
  std::string profile_name;  // "soft (catalogue)", for the report; empty: no profile is known
  std::string profile;       // as JSON
  std::string table;         // as JSON; empty: WEFT_TABLE is not set
  std::string doubt;         // on rank 0: a note that the table was made for another adapter

  /// All but the doubt in one text, which from_text() reads back.
  std::string to_text() const;
  static AdapterKnowledge from_text(std::string_view text);
};

/// `profile_setting` is WEFT_PROFILE, `table_file` WEFT_TABLE; `device` names the adapter.
/// UsageError or SystemError where one of them is wrong or cannot be read.
AdapterKnowledge look_up_adapter(
    const std::string& profile_setting, const std::string& table_file,
    const hierarchy::Machine& machine,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device);

/// The table alone, where no adapter is used; `table_file` may be empty. Errors as above.
AdapterKnowledge look_up_table(const std::string& table_file);

/// From which choices follow: the adapter of the profile, as JSON, with the settings of this job.
Basis basis_of(const Situation& situation, const std::string& profile);

class Chooser {
 public:
  explicit Chooser(Situation situation) : situation_(std::move(situation)) {}

  /// From now on choices are simulated, if there is a profile, and the table is followed, if it was
  /// made for this machine.
  void learn(const AdapterKnowledge& known);

  Algorithm choose(const plan::Problem& problem) const;
  /// The same on one node, as if no rank read its neighbours' buffers; what was asked for by name
  /// or by the table stays.
  Algorithm choose_by_stages(const plan::Problem& problem) const;
  /// As choose() where each rank can choose alone, and alike; nullopt where the choice is
  /// simulated, which rank 0 does for all.
  std::optional<Algorithm> choose_without_simulation(const plan::Problem& problem) const;

  /// Whether slots may serve the alltoallvs whose algorithm is chosen: where there is a profile,
  /// and nobody has asked for another algorithm. All ranks know alike; then slots() finds out.
  bool considers_slots() const;
  /// Simulates, if it is new; for alltoallvs that choose() gives `base`.
  SlotChoice slots(const Algorithm& base) const { return simulated_->slots(base); }

  /// An algorithm that was asked for by name and may not run for a problem.
  struct PassedOver {
    std::string algorithm;
    std::string reason;
  };
  std::optional<PassedOver> passed_over(const plan::Problem& problem) const;

 private:
  Facts facts_for(const plan::Problem& problem) const;
  std::optional<Algorithm> asked_for(const plan::Problem& problem) const;

  Situation situation_;
  std::shared_ptr<ChoiceCache> simulated_;  // null: fixed rules
  std::optional<DecisionTable> table_;      // for this machine
};

}  // namespace weft::tune
