// Which algorithm a call takes: what was asked for, what is chosen by what is known of the device,
// or fixed rules.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/calls/impl.hpp"
#include "comm/setup/describe.hpp"
#include "comm/setup/selection.hpp"
#include "comm/setup/together.hpp"
#include "tune/candidates.hpp"
#include "tune/deterministic.hpp"
#include "tune/profile_choice.hpp"

namespace weft {

using plan::Problem;

namespace {

/// What is before the next 0, which goes with it.
std::string take(std::string_view& text) {
  const auto end = std::min(text.find('\0'), text.size());
  std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

std::string Communicator::Impl::profile_of_device() {
  const auto device = [this]() -> std::optional<nic_profiles::DeviceName> {
    try {
      const verbs::Endpoint& endpoint = links_->open();
      const verbs::Rail& rail = *endpoint.rails()[endpoint.nearest_first().front()];
      return nic_profiles::DeviceName{rail.device(), rail.vendor(), rail.part()};
    } catch (const Error&) {
      return std::nullopt;  // whoever connects says why
    }
  };
  std::string text;
  const auto add = [&](const std::string& part) { (text += part) += '\0'; };
  const auto found = tune::find_profile(settings_.profile, device);
  add(found ? tune::describe(*found) : "");
  add(found ? nic_profiles::to_json(found->profile) : "");
  if (settings_.table.empty()) return text;
  const tune::DecisionTable table = tune::load_table(settings_.table);
  add(to_json(table));
  if (table.machine == to_string(machine_)) doubt_adapter(table, adapter_names(found, device()));
  return text;
}

/// Whoever names a table wants it: it is taken all the same.
void Communicator::Impl::doubt_adapter(const tune::DecisionTable& table,
                                       std::span<const std::string> names) {
  if (names.empty() || std::ranges::find(names, table.adapter) != names.end()) return;
  statistics_.notes.push_back(
      fmt::format("WEFT_TABLE={}: made for the adapter {}, and this is {}: followed all the same",
                  settings_.table, table.adapter, fmt::join(names, " alias ")));
  log::warn("{}", statistics_.notes.back());
}

void Communicator::Impl::find_profile() {
  const auto all = together([&] { return rank_ == 0 ? profile_of_device() : std::string(); });
  std::string_view known = all.front();
  statistics_.profile = take(known);
  const std::string profile = take(known);
  const std::string table = take(known);
  if (!table.empty()) {
    table_ = tune::parse_table("WEFT_TABLE", table);
    // One made for the nodes alone serves whatever their sockets are.
    if (table_->machine != to_string(machine_) &&
        table_->machine != to_string(machine_.without_domains())) {
      table_.reset();
    }
  }
  if (profile.empty()) return;
  tune::Basis basis{machine_, nic_profiles::parse("rank 0's profile", profile).hardware, direct(),
                    settings_.deterministic, any_crowded_};
  // How large messages travel is the channel's affair, whatever the profile's MPI did, and who
  // shares cores is this job's.
  basis.hardware.adapter.eager_bytes = settings_.eager_bytes;
  basis.hardware.adapter.receiver_first = true;
  sim::Host& host = basis.hardware.host;
  const double switch_ns = host.switch_ns > 0 ? host.switch_ns : tune::kUsualSwitch_ns;
  host = host_;
  host.switch_ns = switch_ns;
  const std::string text = fmt::format(
      "{} {} {:d} {:d} {}/{} {} {}", to_string(machine_), static_cast<int>(basis.direct),
      basis.deterministic, basis.crowded, host.cores, host.nodes, settings_.eager_bytes, profile);
  chooser_ = tune::shared_chooser(text, basis);
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

tune::Facts Communicator::Impl::facts_for(const Problem& problem) const {
  // An alltoallv's buffers are not copied to where peers see them.
  const bool sees =
      view_ != engine::View::staged || problem.collective != plan::Collective::alltoallv;
  return {machine_, sees ? direct() : tune::Direct::none, settings_.deterministic, any_crowded_};
}

std::optional<tune::Algorithm> Communicator::Impl::known_to_all(const Problem& problem) const {
  if (auto algorithm = asked_for(problem)) return algorithm;
  if (auto only = tune::deterministic_algorithm(problem, facts_for(problem))) return only;
  if (chooser_ == nullptr) return comm::choose(problem, facts_for(problem));
  return std::nullopt;
}

std::optional<tune::Algorithm> Communicator::Impl::asked_for(const Problem& problem) const {
  const auto may = [&](std::string_view name) -> std::optional<tune::Algorithm> {
    auto algorithm = tune::parse_algorithm(problem.collective, name);
    if (!tune::may_run(algorithm, problem, facts_for(problem))) return std::nullopt;
    return algorithm;
  };
  const auto asked = settings_.algorithms.find(problem.collective);
  if (asked != settings_.algorithms.end()) {
    if (auto algorithm = may(asked->second)) return algorithm;
  }
  if (!table_) return std::nullopt;
  const tune::Rule* rule = table_->find(problem.collective, tune::block_bytes(problem));
  return rule == nullptr ? std::nullopt : may(rule->algorithm);
}

tune::Algorithm Communicator::Impl::algorithm_for(const Problem& problem) const {
  if (auto algorithm = known_to_all(problem)) return *algorithm;
  if (auto algorithm = chooser_->choose(problem)) return *algorithm;
  return comm::choose(problem, facts_for(problem));
}

tune::Algorithm Communicator::Impl::agree_on_algorithm(const Problem& problem) {
  if (auto algorithm = known_to_all(problem)) return *algorithm;
  const auto all = together([&] {
    std::string text = rank_ == 0 ? algorithm_for(problem).name : std::string();
    return (text += '\0') += comm::describe(problem);
  });
  std::string name;
  std::vector<std::string_view> described;
  for (const std::string& one : all) {
    std::string_view rest = one;
    const std::string first = take(rest);
    if (described.empty()) name = first;
    described.push_back(rest);
  }
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
