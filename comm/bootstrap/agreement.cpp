#include "comm/bootstrap/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weft::comm {

namespace {

// The first byte of what a rank tells; its result or its error follows.
constexpr char kDone = '+';
constexpr char kUsageError = 'u';
constexpr char kError = 'e';
constexpr char kGivenUp = 'g';

// The worst first.
constexpr std::string_view kKinds = "ueg+";

constexpr std::size_t kRankBytes = sizeof(std::int32_t);

/// A rank's result, or its error behind the rank.
std::string vote_of(int rank, std::string attempted) {
  if (attempted[0] == kDone) return attempted;
  const std::int32_t number = rank;
  return attempted.insert(1, reinterpret_cast<const char*>(&number), kRankBytes);
}

/// What another rank has sent is an error where it is nothing that vote_of() writes.
struct Vote {
  char kind = kError;
  std::int32_t rank = -1;  // of an error
  std::string_view text = "not the outcome of a step";

  explicit Vote(std::string_view bytes) {
    if (bytes.empty() || kKinds.find(bytes[0]) == kKinds.npos) return;
    const bool is_done = bytes[0] == kDone;
    if (!is_done && bytes.size() < 1 + kRankBytes) return;
    kind = bytes[0];
    if (!is_done) std::memcpy(&rank, bytes.data() + 1, kRankBytes);
    text = bytes.substr(is_done ? 1 : 1 + kRankBytes);
  }
  std::size_t badness() const { return kKinds.find(kind); }
};

std::string join_votes(std::string_view a, std::string_view b, const Bootstrap::Merge& merge) {
  const Vote first(a), second(b);
  if (first.kind == kDone && second.kind == kDone) return kDone + merge(first.text, second.text);
  const bool is_first = first.badness() != second.badness() ? first.badness() < second.badness()
                                                            : first.rank < second.rank;
  return std::string(is_first ? a : b);
}

StepOutcome outcome_of(std::string_view bytes) {
  const Vote vote(bytes);
  StepOutcome outcome;
  if (vote.kind == kDone) {
    outcome.results.emplace_back(vote.text);
    return outcome;
  }
  outcome.is_usage_error = vote.kind == kUsageError;
  outcome.error = outcome.is_usage_error ? std::string(vote.text)
                                         : fmt::format("rank {}: {}", vote.rank, vote.text);
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
    if (one.empty() || kKinds.find(one[0]) == kKinds.npos) one = kError;
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
