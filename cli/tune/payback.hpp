// Payback of a simulated tuning: its regret at sizes that were held out, its cost beside that of an
// exhaustive search, and the calls until it has paid.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/json.hpp"
#include "tune/experiments/held_out.hpp"

namespace weft::cli {

struct Payback {
  tune::HeldOut held_out;
  double tuning_seconds = 0;  ///< of all runs, those in the journal included
  double exhaustive_seconds = 0;
  std::vector<double> before, after;  ///< of one run at each tuned size: by fixed rules, as found

  Json to_json_form() const;
  std::string to_text() const;
};

}  // namespace weft::cli
