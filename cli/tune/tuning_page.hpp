// Tuning page: what a tuning has found, for a browser: who wins where, times, and what other
// choices cost.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/tune/tuned.hpp"

namespace weft::cli {

/// The winners on one machine, a row of a map.
struct MapRow {
  std::string machine;       ///< "8x4"
  bool is_predicted = true;  ///< by a profile; else this is the machine that was tuned
  std::vector<std::pair<std::uint64_t, std::string>> winners;  ///< by bytes, ascending
};

struct PagePart {
  TunedCollective found;
  std::vector<MapRow> map;  ///< the fewest ranks first
  /// By bytes, between those that were tuned: how much longer the table's choice takes than the
  /// best, in per cent. May be empty.
  std::vector<std::pair<double, double>> held_out;
};

struct TuningPage {
  std::string title;     ///< "broadcast on 8x4 with connectx-6"
  std::string lead;      ///< what it took, and what it gains
  std::string time;      ///< "measured", "simulated": what the times of what was found are
  std::string own;       ///< whose choices are beside those: "weft by itself"
  std::string predicts;  ///< the profile that predicts; empty: none
  std::vector<PagePart> parts;
};

/// One file, which needs nothing else.
std::string to_html(const TuningPage& page);

}  // namespace weft::cli
