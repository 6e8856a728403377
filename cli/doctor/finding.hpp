// Finding: what `weft doctor` says about one thing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

enum class Verdict : std::uint8_t {
  ok,       ///< Holds nothing back.
  warning,  ///< weft works, but slower, or not everywhere.
  problem,  ///< weft cannot serve some programs or some of their calls.
};

constexpr std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::warning ? "warning" : "problem";
}

/// In one line each, without a full stop.
struct Finding {
  Verdict verdict = Verdict::ok;
  std::string name;     ///< What was looked at.
  std::string state;    ///< How it is.
  std::string meaning;  ///< What that means for weft; may be empty where it is ok.
  std::string remedy;   ///< What to type; empty where there is nothing to mend, or no way to.
};

using Findings = std::vector<Finding>;

}  // namespace weft::cli
