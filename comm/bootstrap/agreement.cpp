#include "comm/bootstrap/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::comm {

namespace {

// The first byte of what a rank tells; its result or its error follows.
constexpr char kDone = '+';
constexpr char kUsageError = 'u';
constexpr char kError = 'e';
constexpr char kGivenUp = 'g';

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

}  // namespace

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

}  // namespace weft::comm
