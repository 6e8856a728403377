#include "cli/tune/payback.hpp"

#include <fmt/format.h>

#include "cli/terminal/output.hpp"
#include "tune/experiments/payback.hpp"

namespace weft::cli {

namespace {

/// How many times as long the exhaustive search takes. A tuning that ran nothing took no time.
double times_less(const Payback& one) {
  return one.tuning_seconds > 0 ? one.exhaustive_seconds / one.tuning_seconds : 0;
}

}  // namespace

Json Payback::to_json_form() const {
  const auto regret = tune::regrets(held_out.table, held_out.best);
  const auto at = [&](double part) {
    return regret.empty() ? Json() : Json(tune::quantile(regret, part) * 100);
  };
  const auto calls = tune::break_even_calls(tuning_seconds, before, after);
  return {{"held_out", held_out.sizes.size()},
          {"regret_percent", {{"median", at(0.5)}, {"p95", at(0.95)}, {"most", at(1)}}},
          {"tuning_seconds", tuning_seconds},
          {"exhaustive_seconds", exhaustive_seconds},
          {"break_even_calls", calls ? Json(*calls) : Json()}};
}

std::string Payback::to_text() const {
  std::string text;
  const auto regret = tune::regrets(held_out.table, held_out.best);
  if (regret.empty()) {
    text = "No size lies between those that were tuned: nothing is held out.\n";
  } else {
    text = fmt::format(
        "Held out, at {} between those tuned: regret {:.1f} % (median), {:.1f} % (p95), {:.1f} % "
        "(most).\n",
        counted(regret.size(), "size"), tune::quantile(regret, 0.5) * 100,
        tune::quantile(regret, 0.95) * 100, tune::quantile(regret, 1) * 100);
  }
  text += fmt::format("An exhaustive search takes {:.6f} s", exhaustive_seconds);
  if (tuning_seconds > 0) text += fmt::format(", {:.1f} times as long", times_less(*this));
  const auto calls = tune::break_even_calls(tuning_seconds, before, after);
  if (!calls) return text + ". Fixed rules are as fast: the tuning never pays.\n";
  return text + fmt::format(
                    ". Against fixed rules the tuning has paid after {:.0f} calls, as many of "
                    "each size.\n",
                    *calls);
}

}  // namespace weft::cli
