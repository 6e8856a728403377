#include "cli/tune/tune_options.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/env.hpp"
#include "tune/decision_table.hpp"
#include "tune/experiments/searches.hpp"

namespace weft::cli {

int TuneOptions::grid_step() const {
  return grid ? static_cast<int>(env::parse_integer("--grid", *grid, 1, 64)) : 1;
}

std::uint64_t TuneOptions::least_segment_bytes() const {
  if (!least_segment) return 1024;
  return static_cast<std::uint64_t>(
      env::parse_integer("--least-segment", *least_segment, 1, 1 << 30));
}

std::optional<double> TuneOptions::doubt_part() const {
  if (!doubt) return std::nullopt;
  return static_cast<double>(env::parse_integer("--doubt", *doubt, 0, 1000)) / 100;
}

tune::Search search_by(tune::Measure predict, std::optional<double> doubt) {
  if (doubt) {
    return [predict = std::move(predict), doubt](const auto& point, auto& where) {
      return by_prediction(point, where, predict, *doubt);
    };
  }
  constexpr double kMostDoubt = 0.25;
  const auto learnt = std::make_shared<tune::Doubt>(kMostDoubt);
  return [predict = std::move(predict), learnt](const auto& point, auto& where) {
    return by_taught_prediction(point, where, predict, *learnt);
  };
}

std::optional<tune::Search> plain_search(std::string_view name) {
  if (name == "exhaustive") return tune::exhaustive;
  if (name == "mgd") {
    return [](const auto& point, auto& where) { return gradient_descent(point, where); };
  }
  if (name == "smgd") return [](const auto& point, auto& where) { return scanning(point, where); };
  return std::nullopt;
}

std::string all_sizes() {
  std::string sizes;
  for (std::uint64_t bytes = 1; bytes <= tune::kLargestGridBytes; bytes *= 2) {
    sizes += fmt::format("{}{}", bytes == 1 ? "" : ",", bytes);
  }
  return sizes;
}

}  // namespace weft::cli
