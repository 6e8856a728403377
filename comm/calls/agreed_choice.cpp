#include "comm/calls/agreed_choice.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/log.hpp"
#include "comm/setup/call.hpp"

namespace weft::comm {

using plan::Problem;

AgreedChoice AgreedChoice::by_stages(Resources& resources) {
  AgreedChoice choice(resources, resources.situation());
  choice.is_by_stages_ = true;
  return choice;
}

AgreedChoice::AgreedChoice(Resources& resources) : AgreedChoice(resources, resources.situation()) {
  if (resources.machine().nodes() == 1 && !resources.has_table()) return;
  const auto all = resources.members().agree(
      [&] { return resources.rank() == 0 ? look_up().to_text() : std::string(); });
  const auto known = tune::AdapterKnowledge::from_text(all.front());
  profile_name_ = known.profile_name;
  chooser_.learn(known);
}

/// On rank 0.
tune::AdapterKnowledge AgreedChoice::look_up() {
  const Settings& settings = resources_.settings();
  if (resources_.machine().nodes() == 1) return tune::look_up_table(settings.table);
  auto known = tune::look_up_adapter(settings.profile, settings.table, resources_.machine(),
                                     [&] { return resources_.device(); });
  if (!known.doubt.empty()) {
    resources_.members().note(known.doubt);
    log::warn("{}", known.doubt);
  }
  return known;
}

std::optional<tune::Algorithm> AgreedChoice::choose_alone(const Problem& problem) {
  note_passed_over(problem);
  if (is_by_stages_) return choose_by_stages(problem);
  return chooser_.choose_without_simulation(problem);
}

tune::Algorithm AgreedChoice::agree(const Problem& problem) {
  const auto all = resources_.members().agree([&] {
    std::string text = resources_.rank() == 0 ? chooser_.choose(problem).name() : std::string();
    return (text += '\0') += describe(problem);
  });
  const std::string name = all.front().substr(0, all.front().find('\0'));
  std::vector<std::string_view> described;
  for (const std::string_view one : all) described.push_back(one.substr(one.find('\0') + 1));
  resources_.members().require_alike(described);
  return tune::Algorithm::parse(problem.collective, name);
}

std::optional<std::function<std::string()>> AgreedChoice::slots_for(
    const tune::Algorithm& base) const {
  if (!chooser_.considers_slots()) return std::nullopt;
  return [this, base] { return chooser_.slots(base).to_text(); };
}

void AgreedChoice::note_passed_over(const Problem& problem) {
  if (const auto over = chooser_.passed_over(problem)) {
    note_not_taken(problem.collective, over->algorithm, describe(problem), over->reason);
  }
}

void AgreedChoice::note_other_than(std::string_view only, plan::Collective collective,
                                   std::string_view call, const std::string& reason) {
  const auto& algorithms = resources_.settings().algorithms;
  const auto asked = algorithms.find(collective);
  if (asked == algorithms.end() || asked->second == only) return;
  note_not_taken(collective, asked->second, call, reason);
}

void AgreedChoice::note_not_taken(plan::Collective collective, std::string_view algorithm,
                                  std::string_view call, const std::string& reason) {
  const std::string setting = fmt::format("{}={}", algorithm_variable(collective), algorithm);
  if (!noted_.insert(setting + reason).second) return;
  resources_.members().note(fmt::format("{}: not taken for {}: {}", setting, call, reason));
}

}  // namespace weft::comm
