#include "cli/tune/job_plan.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/problem_options.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

std::string names_of(std::span<const Collective> collectives) {
  std::string names;
  for (const Collective one : collectives) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(one));
  }
  return names;
}

/// All, or those of the text, joined by commas.
std::vector<Collective> collectives_of(const Text& text, std::span<const Collective> allowed,
                                       std::string_view because) {
  if (!text) return {allowed.begin(), allowed.end()};
  std::vector<Collective> chosen;
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    const Collective one = plan::parse_collective(word);
    if (std::ranges::find(allowed, one) == allowed.end()) {
      throw_usage("{}: {} {} alone", word, because, names_of(allowed));
    }
    if (std::ranges::find(chosen, one) == chosen.end()) chosen.push_back(one);
  }
  return chosen;
}

void refuse_what_the_job_decides(const ScenarioOptions& options) {
  const auto refuse = [](const char* option) {
    throw_usage("{}: not on the ranks of a job, which decides that", option);
  };
  if (options.machine.given() || options.uneven) refuse("--machine, --nodes, --ppn, --uneven");
  if (options.nic) refuse("--nic");
  if (options.root) refuse("--root");
  if (options.element) refuse("--element");
  if (options.counts) refuse("--counts");
  if (options.in_place) refuse("--in-place");
}

}  // namespace

JobPlan::JobPlan(const TuneOptions& options, std::span<const Collective> allowed,
                 std::string_view because)
    : collectives(collectives_of(options.scenario.collective, allowed, because)),
      sizes(
          parse_sizes("--bytes", options.scenario.bytes.value_or(all_sizes()), 1, kMostBlockBytes)),
      step(options.grid_step()),
      least_segment(options.least_segment_bytes()) {
  refuse_what_the_job_decides(options.scenario);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

std::vector<std::uint64_t> JobPlan::sizes_of(Collective collective) const {
  return collective == Collective::barrier ? std::vector<std::uint64_t>{0} : sizes;
}

}  // namespace weft::cli
