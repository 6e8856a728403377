// Agreement among ranks: all tell how a step of theirs went, and the error of one is thrown on all.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/weft.hpp"

namespace weft::comm {

/// Another rank said that it gives up: an error of this kind follows from another one.
class GivenUp : public PeerError {
 public:
  using PeerError::PeerError;
};

/// The outcome of a step on all ranks: the same on each of them.
struct StepOutcome {
  std::vector<std::string> results;  // of the step, by rank
  std::string error;                 // empty: none
  bool is_usage_error = false;       // as it was thrown; any other names its rank

  /// UsageError or SetupError.
  void throw_error() const;
};

using Step = std::function<std::string()>;

/// Runs `step` and tells the other ranks by `allgather`, a Bootstrap's or one like it. Of several
/// errors a UsageError comes first and a GivenUp last, then the lowest rank's. Collective.
StepOutcome run_step(
    const std::function<std::vector<std::string>(std::string_view mine)>& allgather,
    const Step& step);

/// Runs `step` and returns what there is to tell about it to the functions below.
std::string attempt(const Step& step);
/// The results of all ranks joined by `merge`: the only result of the outcome. Errors as with
/// run_step(). Collective.
StepOutcome vote_on(Bootstrap& bootstrap, std::string attempted, const Bootstrap::Merge& merge);
/// The outcome with the results of the ranks `members` (see Bootstrap::gather_among()), and the
/// error of any rank. Collective over all ranks.
StepOutcome gather_steps(Bootstrap& bootstrap, std::span<const int> members, std::string attempted);

/// A step of a callable that returns a text or nothing.
template <class Work>
Step as_step(Work& work) {
  return [&work]() -> std::string {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return {};
    } else {
      return work();
    }
  };
}

/// Runs `work`; returns its results on all ranks, in rank order. Where it threw on one, every rank
/// throws the same. Collective.
template <class Work>
std::vector<std::string> agree(Bootstrap& bootstrap, Work work) {
  StepOutcome outcome = run_step(
      [&bootstrap](std::string_view mine) { return bootstrap.allgather(mine); }, as_step(work));
  outcome.throw_error();
  return std::move(outcome.results);
}

}  // namespace weft::comm
