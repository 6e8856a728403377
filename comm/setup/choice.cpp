// The choice of a call's algorithm, as far as it takes several ranks: rank 0 finds the profile and
// makes the choices that are simulated.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/calls/impl.hpp"
#include "comm/setup/describe.hpp"
#include "comm/setup/together.hpp"

namespace weft {

using plan::Problem;

/// Collective.
void Communicator::Impl::find_profile() {
  const auto device = [this]() -> std::optional<nic_profiles::DeviceName> {
    try {
      const verbs::Endpoint& endpoint = links_->open();
      const verbs::Rail& rail = *endpoint.rails()[endpoint.nearest_first().front()];
      return nic_profiles::DeviceName{rail.device(), rail.vendor(), rail.part()};
    } catch (const Error&) {
      return std::nullopt;  // the first connection will report it
    }
  };
  const auto all = together([&] {
    if (rank_ != 0) return std::string();
    const auto known = tune::look_up_adapter(settings_.profile, settings_.table, machine_, device);
    if (!known.doubt.empty()) {
      statistics_.notes.push_back(known.doubt);
      log::warn("{}", known.doubt);
    }
    return known.to_text();
  });
  const auto known = tune::AdapterKnowledge::from_text(all.front());
  statistics_.profile = known.profile_name;
  chooser_->learn(known);
}

tune::Direct Communicator::Impl::direct() const {
  switch (view_) {
    case engine::View::same_process:
    case engine::View::shared_heap:
    case engine::View::xpmem:
      return tune::Direct::loads;
    case engine::View::cma:
      return tune::Direct::calls;
    case engine::View::staged:
      break;
  }
  return only_heaps_ ? tune::Direct::loads : tune::Direct::none;
}

void Communicator::Impl::note_not_taken(plan::Collective collective, const std::string& algorithm,
                                        std::string_view call, const std::string& reason) {
  const std::string setting = fmt::format("{}={}", comm::algorithm_variable(collective), algorithm);
  if (!not_taken_.insert(setting + reason).second) return;
  statistics_.notes.push_back(fmt::format("{}: not taken for {}: {}", setting, call, reason));
}

void Communicator::Impl::note_passed_over(const Problem& problem) {
  if (const auto over = chooser_->passed_over(problem)) {
    note_not_taken(problem.collective, over->algorithm, comm::describe(problem), over->reason);
  }
}

tune::Algorithm Communicator::Impl::agree_on_algorithm(const Problem& problem) {
  note_passed_over(problem);
  if (auto algorithm = chooser_->choose_without_simulation(problem)) return *algorithm;
  const auto all = together([&] {
    std::string text = rank_ == 0 ? chooser_->choose(problem).name : std::string();
    return (text += '\0') += comm::describe(problem);
  });
  const std::string name = all.front().substr(0, all.front().find('\0'));
  std::vector<std::string_view> described;
  for (const std::string_view one : all) described.push_back(one.substr(one.find('\0') + 1));
  require_alike(described);
  return tune::parse_algorithm(problem.collective, name);
}

void Communicator::Impl::require_alike(std::span<const std::string_view> described) {
  for (std::size_t rank = 1; rank < described.size(); ++rank) {
    if (described[rank] == described[0]) continue;
    break_for(fmt::format("ranks disagree: {} on rank 0, {} on rank {}", described[0],
                          described[rank], rank));
    throw UsageError(broken_);
  }
}

}  // namespace weft
