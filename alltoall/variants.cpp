#include <algorithm>

#include <fmt/format.h>

#include "alltoall/registry.hpp"

namespace weft::alltoall {

namespace {

/// 2, 3, 4, 8, as long as the one before did not already finish in one round.
std::vector<int> useful_radices(int ranks) {
  std::vector<int> radices = {2};
  for (const int radix : {3, 4, 8}) {
    if (radices.back() < ranks) radices.push_back(radix);
  }
  return radices;
}

/// The flat algorithms with their parameters, as "name,key=value".
std::vector<std::string> flat_variants(int ranks) {
  const Parameters defaults;
  std::vector<std::string> list;
  for (const FlatAlgorithm& algorithm : flat_algorithms()) {
    list.emplace_back(algorithm.name);
    const auto add = [&](std::string_view key, int value) {
      list.push_back(fmt::format("{},{}={}", algorithm.name, key, value));
    };
    if ((algorithm.reads & kReadsRadix) != 0) {
      for (const int radix : useful_radices(ranks)) {
        if (radix != defaults.radix) add("radix", radix);
      }
    }
    if ((algorithm.reads & kReadsWindow) != 0 && ranks > 3) add("window", 2);
    if ((algorithm.reads & kReadsArity) != 0 && ranks > 3) add("arity", 3);
  }
  return list;
}

/// The parameters of a scheme: "", "leaders=2,direct=1", ...
std::vector<std::string> scheme_variants(const Scheme& scheme, int ranks) {
  const bool leads = (scheme.reads & kReadsLeaders) != 0;
  std::vector<std::string> widths = {leads ? "leaders=1" : "direct=0"};
  const bool narrows = leads || (scheme.reads & kReadsCores) != 0;
  if (!leads && narrows) widths.emplace_back("cores=1");
  if (narrows && ranks > 2) widths.emplace_back(leads ? "leaders=2" : "cores=2");
  if (leads && ranks > 1) widths.push_back(fmt::format("leaders={}", ranks));
  if (leads && ranks > 2) widths.emplace_back("leaders=sockets");
  std::vector<std::string> list;
  for (const std::string& width : widths) {
    list.push_back(width);
    list.push_back(width == "direct=0" ? "direct=1" : width + ",direct=1");
  }
  return list;
}

}  // namespace

std::vector<Algorithm> variants(int ranks, plan::Collective collective) {
  const std::vector<std::string> flat = flat_variants(ranks);
  std::vector<Algorithm> result;
  const auto add = [&](const std::string& text) {
    auto algorithm = Algorithm::parse(text);
    if (!algorithm.refusal(collective)) result.push_back(std::move(algorithm));
  };
  for (std::string step : flat) {
    std::ranges::replace(step, ',', ':');
    add(step);
  }
  for (const Scheme& scheme : schemes()) {
    for (const std::string& setting : scheme_variants(scheme, ranks)) {
      for (const std::string& step : flat) {
        add(fmt::format("{}:between={},{}", scheme.name, step, setting));
      }
    }
  }
  return result;
}

}  // namespace weft::alltoall
