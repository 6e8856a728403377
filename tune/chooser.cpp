#include "tune/chooser.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nic_profiles/profile.hpp"
#include "tune/candidates.hpp"
#include "tune/fixed_rules.hpp"
#include "tune/profile_lookup.hpp"

namespace weft::tune {

using plan::Problem;

namespace {

/// The part of `text` before the next 0, which is removed with it.
std::string take_part(std::string_view& text) {
  const auto end = std::min(text.find('\0'), text.size());
  std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

// The channel, not the profile's MPI, decides the path of large messages, and this job knows its
// ranks that share cores.
Basis basis_of(const Situation& situation, const std::string& profile) {
  Basis basis{situation.machine, nic_profiles::parse("rank 0's profile", profile).hardware,
              situation.direct, situation.deterministic, situation.crowded};
  basis.hardware.adapter.eager_bytes = situation.eager_bytes;
  basis.hardware.adapter.receiver_first = true;
  sim::Host& host = basis.hardware.host;
  const double switch_ns = host.switch_ns > 0 ? host.switch_ns : kUsualSwitch_ns;
  host = situation.host;
  host.switch_ns = switch_ns;
  return basis;
}

std::string AdapterKnowledge::to_text() const {
  std::string text;
  for (const std::string* part : {&profile_name, &profile, &table}) (text += *part) += '\0';
  return text;
}

AdapterKnowledge AdapterKnowledge::from_text(std::string_view text) {
  AdapterKnowledge known;
  known.profile_name = take_part(text);
  known.profile = take_part(text);
  known.table = take_part(text);
  return known;
}

AdapterKnowledge look_up_adapter(
    const std::string& profile_setting, const std::string& table_file,
    const hierarchy::Machine& machine,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device) {
  AdapterKnowledge known;
  const auto found = find_profile_once(profile_setting, device);
  if (found != nullptr) {
    known.profile_name = describe(*found);
    known.profile = found->text;
  }
  if (table_file.empty()) return known;
  const DecisionTable table = load_set_table(table_file);
  known.table = to_json(table);
  if (table.machine != to_string(machine)) return known;
  // The user has named this table: it is followed all the same.
  const auto names = adapter_names(found.get(), device());
  if (!names.empty() && std::ranges::find(names, table.adapter) == names.end()) {
    known.doubt =
        fmt::format("WEFT_TABLE={}: made for the adapter {}, and this is {}: followed all the same",
                    table_file, table.adapter, fmt::join(names, " alias "));
  }
  return known;
}

AdapterKnowledge look_up_table(const std::string& table_file) {
  AdapterKnowledge known;
  if (!table_file.empty()) known.table = to_json(load_set_table(table_file));
  return known;
}

void Chooser::learn(const AdapterKnowledge& known) {
  const hierarchy::Machine& machine = situation_.machine;
  if (!known.table.empty()) {
    table_ = parse_table("WEFT_TABLE", known.table);
    // A table for a machine without sockets serves the same nodes with any sockets.
    if (table_->machine != to_string(machine) &&
        table_->machine != to_string(machine.without_domains())) {
      table_.reset();
    }
  }
  if (known.profile.empty()) return;
  const std::string text = fmt::format(
      "{} {} {:d} {:d} {}/{} {} {}", to_string(machine), static_cast<int>(situation_.direct),
      situation_.deterministic, situation_.crowded, situation_.host.cores, situation_.host.nodes,
      situation_.eager_bytes, known.profile);
  simulated_ = shared_choices(text, [&] { return basis_of(situation_, known.profile); });
}

Facts Chooser::facts_for(const Problem& problem) const {
  const bool is_vector = problem.collective == plan::Collective::alltoallv;
  return {situation_.machine, is_vector ? situation_.direct_alltoallv : situation_.direct,
          situation_.deterministic, situation_.crowded};
}

std::optional<Algorithm> Chooser::asked_for(const Problem& problem) const {
  const auto may = [&](std::string_view name) -> std::optional<Algorithm> {
    auto algorithm = Algorithm::parse(problem.collective, name);
    if (!may_run(algorithm, problem, facts_for(problem))) return std::nullopt;
    return algorithm;
  };
  const auto asked = situation_.asked.find(problem.collective);
  if (asked != situation_.asked.end()) {
    if (auto algorithm = may(asked->second)) return algorithm;
  }
  if (!table_) return std::nullopt;
  const Rule* rule = table_->find(problem.collective, block_bytes(problem));
  return rule == nullptr ? std::nullopt : may(rule->algorithm);
}

std::optional<Chooser::PassedOver> Chooser::passed_over(const Problem& problem) const {
  const auto asked = situation_.asked.find(problem.collective);
  if (asked == situation_.asked.end()) return std::nullopt;
  const Algorithm algorithm = Algorithm::parse(problem.collective, asked->second);
  if (may_run(algorithm, problem, facts_for(problem))) return std::nullopt;
  const auto refusal = algorithm.refusal(problem, situation_.machine);
  return PassedOver{asked->second,
                    refusal.value_or("its result depends on where the ranks are, and "
                                     "WEFT_DETERMINISTIC forbids that")};
}

std::optional<Algorithm> Chooser::choose_without_simulation(const Problem& problem) const {
  if (auto algorithm = asked_for(problem)) return algorithm;
  if (auto only = deterministic_choice(problem, facts_for(problem))) return only;
  if (simulated_ == nullptr) return choose_by_rules(problem, facts_for(problem));
  return std::nullopt;
}

Algorithm Chooser::choose_by_stages(const Problem& problem) const {
  if (auto algorithm = asked_for(problem)) return *algorithm;
  Facts facts = facts_for(problem);
  facts.direct = Direct::none;
  return choose_by_rules(problem, facts);
}

bool Chooser::considers_slots() const {
  Problem problem = Problem::alltoall(situation_.machine.ranks(), 0);
  problem.collective = plan::Collective::alltoallv;
  return simulated_ != nullptr && situation_.machine.nodes() > 1 && !asked_for(problem);
}

Algorithm Chooser::choose(const Problem& problem) const {
  if (auto algorithm = choose_without_simulation(problem)) return *algorithm;
  if (auto algorithm = simulated_->choose(problem)) return *algorithm;
  return choose_by_rules(problem, facts_for(problem));
}

}  // namespace weft::tune
