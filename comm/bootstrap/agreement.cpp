#include "comm/bootstrap/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace weft::comm {

namespace {

// The first byte of what a rank tells; its result or its error follows.
constexpr char kDone = '+';
constexpr char kUsageError = 'u';
constexpr char kError = 'e';
constexpr char kGivenUp = 'g';

// The worst first.
constexpr std::string_view kKinds = "ueg+";

/// A rank's result, or its error behind the rank in decimal and a 0.
std::string vote_of(int rank, std::string attempted) {
  if (attempted[0] != kDone) attempted.insert(1, fmt::format("{}", rank) + '\0');
  return attempted;
}

int rank_of(std::string_view vote) {
  return std::atoi(std::string(vote.substr(1, vote.find('\0'))).c_str());
}

std::string join_votes(std::string_view a, std::string_view b, const Bootstrap::Merge& merge) {
  const auto badness = [](std::string_view vote) { return kKinds.find(vote.at(0)); };
  if (a.at(0) == kDone && b.at(0) == kDone) return kDone + merge(a.substr(1), b.substr(1));
  if (badness(a) != badness(b)) return std::string(badness(a) < badness(b) ? a : b);
  return std::string(rank_of(a) < rank_of(b) ? a : b);
}

StepOutcome outcome_of(std::string vote) {
  StepOutcome outcome;
  if (vote.at(0) == kDone) {
    outcome.results.push_back(vote.substr(1));
    return outcome;
  }
  const std::string text = vote.substr(vote.find('\0') + 1);
  outcome.is_usage_error = vote[0] == kUsageError;
  outcome.error = outcome.is_usage_error ? text : fmt::format("rank {}: {}", rank_of(vote), text);
  return outcome;
}

}  // namespace

std::string attempt(const Step& step) {
  try {
    return kDone + step();
  } catch (const UsageError& error) {
    return kUsageError + std::string(error.what());
  } catch (const GivenUp& error) {
    return kGivenUp + std::string(error.what());
  } catch (const std::exception& error) {
    return kError + std::string(error.what());
  }
}

void StepOutcome::throw_error() const {
  if (error.empty()) return;
  if (is_usage_error) throw UsageError(error);
  throw SetupError(error);
}

StepOutcome run_step(
    const std::function<std::vector<std::string>(std::string_view mine)>& allgather,
    const Step& step) {
  StepOutcome outcome;
  std::vector<std::string> all = allgather(attempt(step));
  for (std::string& one : all) {
    if (one.empty()) one = kError;
  }
  for (const char kind : {kUsageError, kError, kGivenUp}) {
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return one[0] == kind; });
    if (found == all.end()) continue;
    const std::string text = found->substr(1);
    outcome.is_usage_error = kind == kUsageError;
    outcome.error =
        outcome.is_usage_error ? text : fmt::format("rank {}: {}", found - all.begin(), text);
    return outcome;
  }
  for (std::string& one : all) one.erase(0, 1);
  outcome.results = std::move(all);
  return outcome;
}

StepOutcome vote_on(Bootstrap& bootstrap, std::string attempted, const Bootstrap::Merge& merge) {
  return outcome_of(bootstrap.combine(
      vote_of(bootstrap.rank(), std::move(attempted)),
      [&merge](std::string_view a, std::string_view b) { return join_votes(a, b, merge); }));
}

StepOutcome gather_steps(Bootstrap& bootstrap, std::span<const int> members,
                         std::string attempted) {
  const auto take = [](std::string_view, std::string_view) { return std::string(); };
  std::vector<std::string> texts =
      bootstrap.gather_among(members, vote_of(bootstrap.rank(), std::move(attempted)));
  std::string worst(1, kDone);
  for (const std::string& text : texts) worst = join_votes(worst, text, take);
  if (members.size() < static_cast<std::size_t>(bootstrap.size())) {
    worst = bootstrap.combine(
        worst, [&take](std::string_view a, std::string_view b) { return join_votes(a, b, take); });
  }
  StepOutcome outcome = outcome_of(worst);
  if (!outcome.error.empty()) return outcome;
  for (std::string& text : texts) text.erase(0, 1);
  outcome.results = std::move(texts);
  return outcome;
}

}  // namespace weft::comm
