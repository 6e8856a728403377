#include "comm/setup/membership.hpp"

#include <fmt/format.h>

#include <system_error>

namespace weft::comm {

/// Runs a call of the bootstrap. Where another rank has given up there, this one is poisoned.
template <class Call>
auto Membership::in_bootstrap(Call call) {
  std::optional<Handover> handover;
  hand_over(handover);
  try {
    return call();
  } catch (const PeerError& error) {
    poison(error.what());
    throw;
  }
}

void Membership::give_up(std::string why) noexcept {
  try {
    poison(std::move(why));
    bootstrap_->give_up(poison_);
  } catch (const std::exception&) {
    // Its messages fail. Those that run the call are told by the executor.
  }
}

std::vector<std::string> Membership::agree_on(const Step& step) {
  return results_of(run_step([this](std::string_view mine) { return allgather(mine); }, step));
}

std::string Membership::vote_on(const Step& step, const Bootstrap::Merge& merge) {
  std::string attempted = attempt(step);
  return results_of(
             in_bootstrap([&] { return comm::vote_on(*bootstrap_, std::move(attempted), merge); }))
      .front();
}

std::vector<std::string> Membership::agree_among_on(std::span<const int> members,
                                                    const Step& step) {
  std::string attempted = attempt(step);
  return results_of(
      in_bootstrap([&] { return gather_steps(*bootstrap_, members, std::move(attempted)); }));
}

std::vector<std::string> Membership::results_of(StepOutcome outcome) {
  if (!outcome.error.empty()) poison(outcome.error);
  outcome.throw_error();
  return std::move(outcome.results);
}

void Membership::require_alike(std::span<const std::string_view> described) {
  for (std::size_t rank = 1; rank < described.size(); ++rank) {
    if (described[rank] == described[0]) continue;
    poison(fmt::format("ranks disagree: {} on rank 0, {} on rank {}", described[0], described[rank],
                       rank));
    throw CallError(poison_);
  }
}

void Membership::hand_over(std::optional<Handover>& handover) {
  if (requests_ == nullptr) return;
  try {
    handover.emplace(*requests_);
  } catch (const std::system_error& refused) {
    note(fmt::format("no thread for requests: {}", refused.what()));
  }
}

std::vector<std::string> Membership::allgather(std::string_view mine) {
  return in_bootstrap([&] { return bootstrap_->allgather(mine); });
}

std::vector<std::string> Membership::exchange(std::span<const int> peers,
                                              std::span<const std::string> mine) {
  return in_bootstrap([&] { return bootstrap_->exchange(peers, mine); });
}

}  // namespace weft::comm
