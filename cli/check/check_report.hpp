// Result of `weft check`, as text and as JSON.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/check/campaign.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

struct Failure {
  std::string command;  // to reproduce it
  std::vector<std::string> findings;
};

/// Totals of one family of algorithms, or of all.
struct Sum {
  std::string name;
  std::set<std::string> variants = {};
  std::uint64_t problems = 0, plans = 0, ops = 0, messages = 0, failed = 0;

  void add(const Proof& proof) {
    ++problems;
    plans += proof.plans;
    ops += proof.ops;
    messages += proof.messages;
    failed += proof.holds() ? 0 : 1;
  }
  Json json() const {
    return {{"name", name}, {"variants", variants.size()}, {"problems", problems}, {"plans", plans},
            {"ops", ops},   {"messages", messages},        {"failed", failed}};
  }
};

struct CheckResult {
  std::vector<Sum> families;
  Sum total{"total"};
  std::vector<Failure> failures;
  std::size_t machines = 0;
  int threads = 1;
  double seconds = 0;

  void add(const Case& one, const Proof& proof);
};

/// For people: a table by family, and the first failures.
std::string to_text(const CheckResult& result);
Json to_json(const CheckResult& result);

}  // namespace weft::cli
