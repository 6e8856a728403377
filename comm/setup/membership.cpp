#include "comm/setup/membership.hpp"

#include <fmt/format.h>

#include <system_error>

namespace weft::comm {

std::vector<std::string> Membership::agree_on(const Step& step) {
  return results_of(run_step([this](std::string_view mine) { return allgather(mine); }, step));
}

std::string Membership::vote_on(const Step& step, const Bootstrap::Merge& merge) {
  std::string attempted = attempt(step);
  std::optional<Handover> handover;
  hand_over(handover);
  StepOutcome outcome = comm::vote_on(*bootstrap_, std::move(attempted), merge);
  return results_of(std::move(outcome)).front();
}

std::vector<std::string> Membership::agree_among_on(std::span<const int> members,
                                                    const Step& step) {
  std::string attempted = attempt(step);
  std::optional<Handover> handover;
  hand_over(handover);
  return results_of(gather_steps(*bootstrap_, members, std::move(attempted)));
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
  std::optional<Handover> handover;
  hand_over(handover);
  return bootstrap_->allgather(mine);
}

std::vector<std::string> Membership::exchange(std::span<const int> peers,
                                              std::span<const std::string> mine) {
  std::optional<Handover> handover;
  hand_over(handover);
  return bootstrap_->exchange(peers, mine);
}

}  // namespace weft::comm
