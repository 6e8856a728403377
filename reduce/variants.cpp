#include <fmt/format.h>

#include "reduce/algorithms.hpp"

namespace weft::reduce {

using plan::Collective;

namespace {

/// The flat algorithms of a collective as text, each with what makes a difference to its plans.
std::vector<std::string> flat_texts(Collective collective, std::uint64_t segment) {
  std::vector<std::string> texts;
  for (const FlatAlgorithm& algorithm : flat_algorithms()) {
    if (algorithm.collective != collective) continue;
    texts.emplace_back(algorithm.name);
    if (algorithm.reads_segment)
      texts.push_back(fmt::format("{},segment={}", algorithm.name, segment));
    if (algorithm.reads_latency) {
      texts.push_back(fmt::format("{},latency=0", algorithm.name));
      texts.push_back(fmt::format("{},latency=16", algorithm.name));
    }
  }
  return texts;
}

}  // namespace

std::vector<Algorithm> variants(Collective collective, int ranks, std::uint64_t segment) {
  std::vector<Algorithm> result;
  for (std::string text : flat_texts(collective, segment)) {
    if (const auto comma = text.find(','); comma != text.npos) text[comma] = ':';
    result.push_back(Algorithm::parse(collective, text));
  }
  std::vector<std::string_view> leaders = {"1"};
  if (ranks > 2) leaders.push_back("2");
  if (ranks > 1) leaders.push_back("all");
  if (ranks > 2) leaders.push_back("sockets");
  for (const Scheme& scheme : schemes()) {
    if (scheme.collective != collective) continue;
    const auto steps =
        scheme.between ? flat_texts(*scheme.between, segment) : std::vector<std::string>{""};
    for (const auto count : scheme.reads_leaders ? leaders : std::vector<std::string_view>{""}) {
      for (int direct = 0; direct <= (scheme.reads_direct ? 1 : 0); ++direct) {
        for (const std::string& step : steps) {
          std::string text(scheme.name);
          const auto add = [&](std::string_view key, const auto& value) {
            text += fmt::format("{}{}={}", text.find(':') == text.npos ? ':' : ',', key, value);
          };
          if (scheme.reads_leaders) add("leaders", count);
          if (scheme.reads_direct) add("direct", direct);
          if (scheme.between) add("between", step);
          result.push_back(Algorithm::parse(collective, text));
        }
      }
    }
  }
  return result;
}

}  // namespace weft::reduce
