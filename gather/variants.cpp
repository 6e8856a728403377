#include <algorithm>

#include <fmt/format.h>

#include "gather/registry.hpp"

namespace weft::gather {

namespace {

/// The settings of a flat algorithm that make a difference on `ranks` ranks: ",radix=3" and so on.
std::vector<std::string> settings_of(const FlatAlgorithm& flat, int ranks,
                                     std::uint64_t segment_bytes) {
  std::vector<std::string> list = {""};
  for (const int radix : {3, 4}) {
    if (flat.reads_radix && radix <= ranks) list.push_back(fmt::format(",radix={}", radix));
  }
  if (flat.reads_segment) list.push_back(fmt::format(",segment={}", segment_bytes));
  return list;
}

/// Each step between nodes with the default inside, and each step inside with the default between.
std::vector<std::string> steps_of(const Table& table, const Scheme& scheme, int ranks,
                                  std::uint64_t segment_bytes) {
  if (scheme.reads_form) return {"", ",inside=direct"};
  if (!scheme.reads_steps) return {""};
  std::vector<std::string> list;
  for (const FlatAlgorithm& flat : table.flat) {
    for (const std::string& settings : settings_of(flat, ranks, segment_bytes)) {
      list.push_back(fmt::format(",between={}{}", flat.name, settings));
    }
  }
  for (const InsideAlgorithm& inside : table.inside.subspan(1)) {
    list.push_back(fmt::format(",inside={}", inside.name));
  }
  return list;
}

}  // namespace

std::vector<Algorithm> variants(plan::Collective collective, int ranks,
                                std::uint64_t segment_bytes) {
  const Table& table = table_of(collective);
  std::vector<Algorithm> result;
  const auto add = [&](std::string_view name, std::string settings) {
    if (!settings.empty()) settings.front() = ':';
    result.push_back(Algorithm::parse(collective, fmt::format("{}{}", name, settings)));
  };
  for (const FlatAlgorithm& flat : table.flat) {
    for (const std::string& settings : settings_of(flat, ranks, segment_bytes)) {
      add(flat.name, settings);
    }
  }
  for (const Scheme& scheme : table.schemes) {
    std::vector<std::string> leaders = {""};
    if (scheme.reads_leaders && ranks > 2) leaders.emplace_back(",leaders=2");
    if (scheme.reads_leaders && ranks > 1) leaders.emplace_back(",leaders=all");
    if (scheme.reads_leaders && ranks > 2) leaders.emplace_back(",leaders=sockets");
    for (const std::string& count : leaders) {
      for (const std::string& steps : steps_of(table, scheme, ranks, segment_bytes)) {
        add(scheme.name, count + steps);
      }
    }
  }
  return result;
}

}  // namespace weft::gather
