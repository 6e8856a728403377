// A rank tuning for people and programs: text, JSON, the page.
#include <cmath>

#include "cli/terminal/output.hpp"
#include "cli/tune/predicted_map.hpp"
#include "cli/tune/rank_tuning.hpp"

namespace weft::cli {

std::string RankTuning::where() const {
  return fmt::format("{} of {}, {}",
                     counted(static_cast<std::uint64_t>(job_.bootstrap().size()), "rank"),
                     counted(hosts_, "host"), table_.machine);
}

Json RankTuning::to_json_form() const {
  Json parts = Json::array();
  for (const TunedCollective& part : found_) {
    Json results = Json::array();
    for (const TunedSize& one : part.sizes) {
      results.push_back({{"bytes", one.bytes},
                         {"algorithm", one.algorithm},
                         {"time_us", one.seconds * 1e6},
                         {"predicted_time_us", one.predicted ? Json(*one.predicted * 1e6) : Json()},
                         {"own_algorithm", one.own_algorithm},
                         {"own_time_us", one.own_seconds * 1e6},
                         {"calls", plan_.trace ? Json(one.calls) : Json()}});
    }
    parts.push_back({{"collective", to_string(part.collective)}, {"results", results}});
  }
  return {{"machine", table_.machine},
          {"adapter", table_.adapter},
          {"ranks", job_.bootstrap().size()},
          {"hosts", hosts_},
          {"search", search_name_},
          {"prior", prior_ ? Json(prior_name_) : Json()},
          {"experiments", laboratory_->experiments()},
          {"experiments_of_exhaustive", all_experiments_},
          {"from_journal", resumed_},
          {"seconds", seconds_},
          {"collectives", parts}};
}

bool RankTuning::gains() const {
  for (const TunedCollective& part : found_) {
    for (const TunedSize& one : part.sizes) {
      if (one.seconds < one.own_seconds) return true;
    }
  }
  return false;
}

/// What it took, and after how many calls it has paid: sentences.
std::string RankTuning::costs() const {
  std::string text =
      fmt::format("{}: {} of the {} of an exhaustive search, {:.1f} s", search_name_,
                  counted(static_cast<std::uint64_t>(laboratory_->experiments()), "experiment"),
                  all_experiments_, seconds_);
  if (resumed_ > 0) text += fmt::format("; {} more are in the journal", resumed_);
  if (!gains()) return text + ".\nWhat weft does by itself is no slower: leave it so.";
  double saved = 0, saved_of_run = 0;
  std::size_t count = 0;
  for (const TunedCollective& part : found_) {
    for (const TunedSize& one : part.sizes) {
      saved += one.own_seconds - one.seconds;
      saved_of_run += one.calls * (one.own_seconds - one.seconds);
    }
    count += part.sizes.size();
  }
  if (plan_.trace) {
    return text + fmt::format(".\nSaves {:.3g} s of a run as recorded. Paid after {:.0f} runs.",
                              saved_of_run, std::ceil(seconds_ / saved_of_run));
  }
  return text + fmt::format(".\nPaid after {:.0f} calls, as many of each size.",
                            std::ceil(seconds_ * static_cast<double>(count) / saved));
}

TuningPage RankTuning::page() {
  TuningPage page{where(), costs(), "measured", "weft by itself", prior_name_, {}};
  for (const TunedCollective& found : found_) {
    PagePart part{found, {}, {}};
    MapRow row{table_.machine, false, {}};
    std::vector<std::uint64_t> sizes;
    for (const TunedSize& one : found.sizes) {
      row.winners.emplace_back(one.bytes, one.algorithm);
      sizes.push_back(one.bytes);
    }
    if (prior_) {
      part.map = predicted_rows(
          job_.facts(), *prior_, sizes, plan_.least_segment,
          [&](std::uint64_t bytes) { return job_.problem(found.collective, bytes); });
    }
    part.map.push_back(std::move(row));
    page.parts.push_back(std::move(part));
  }
  return page;
}

std::string RankTuning::to_text(const Text& path) const {
  std::string text = where() + "\n";
  for (const TunedCollective& part : found_) {
    text +=
        fmt::format("\n{}\n{:>12}  {:<32}{:>12}{:>14}{:>14}  {}\n", to_string(part.collective),
                    "bytes", "algorithm", "time us", "predicted us", "by itself us", "by itself");
    for (const TunedSize& one : part.sizes) {
      text += fmt::format("{:>12}  {:<32}{:>12.2f}{:>14}{:>14.2f}  {}\n", one.bytes, one.algorithm,
                          one.seconds * 1e6,
                          one.predicted ? fmt::format("{:.2f}", *one.predicted * 1e6) : "-",
                          one.own_seconds * 1e6, one.own_algorithm);
    }
  }
  text += "\n" + costs() + "\n";
  if (!gains()) return text;
  return text + fmt::format("\nWEFT_TABLE={}\n", shell_word(path.value_or("FILE")));
}

}  // namespace weft::cli
