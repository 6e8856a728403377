#include "registry/variants.hpp"

#include <fmt/format.h>

#include "registry/all_algorithms.hpp"

namespace weft::registry {

using algorithm::FlatAlgorithm;
using algorithm::Parameter;
using algorithm::ParameterSet;
using algorithm::Scheme;
using algorithm::SchemeForm;
using plan::Collective;

namespace {

using Texts = std::vector<std::string>;

class Variants {
 public:
  Variants(int ranks, std::uint64_t segment_bytes) : ranks_(ranks), segment_bytes_(segment_bytes) {}

  /// The settings of a flat algorithm: "", ",radix=3" and so on.
  Texts settings_of(const ParameterSet& reads) const {
    Texts list = {""};
    const auto add = [&](Parameter parameter, std::string_view key, auto value) {
      if (reads.has(parameter)) list.push_back(fmt::format(",{}={}", key, value));
    };
    // As long as the radix before did not already finish in one round.
    int last = 2;
    for (const int radix : {3, 4, 8}) {
      if (last < ranks_) add(Parameter::radix, "radix", last = radix);
    }
    if (ranks_ > 3) add(Parameter::window, "window", 2);
    if (ranks_ > 3) add(Parameter::arity, "arity", 3);
    add(Parameter::segment, "segment", segment_bytes_);
    add(Parameter::slot, "slot", 8);
    for (const int latency : {0, 16}) add(Parameter::latency, "latency", latency);
    return list;
  }

  /// Numbers of ranks of a node that talk to the network.
  Texts widths_of(const ParameterSet& reads) const {
    Texts list = {""};
    if (reads.has(Parameter::leaders)) {
      if (ranks_ > 2) list.emplace_back(",leaders=2");
      if (ranks_ > 1) list.emplace_back(",leaders=all");
      if (ranks_ > 2) list.emplace_back(",leaders=sockets");
    }
    if (reads.has(Parameter::cores)) {
      list.emplace_back(",cores=1");
      if (ranks_ > 2) list.emplace_back(",cores=2");
    }
    return list;
  }

  /// Each step between nodes with the default inside, and each step inside with the default
  /// between.
  Texts steps_of(const SchemeForm& form, Collective collective) const {
    Texts list;
    if (form.between) {
      const bool is_vector = collective == Collective::alltoallv;
      const Collective step_collective = is_vector ? collective : *form.between;
      for (const FlatAlgorithm* step : flat_algorithms(*form.between)) {
        for (const std::string& settings : settings_of(step->find(step_collective)->reads)) {
          list.push_back(fmt::format(",between={}{}", step->name, settings));
        }
      }
    } else {
      list.emplace_back("");
    }
    for (std::size_t i = 1; i < form.inside.size(); ++i) {
      list.push_back(fmt::format(",inside={}", form.inside[i].name));
    }
    return list;
  }

  Texts texts_of(const Scheme& scheme, Collective collective) const {
    const SchemeForm& form = *scheme.find(collective);
    Texts list;
    for (const std::string& width : widths_of(form.reads)) {
      for (const char* direct : {"", ",direct=1"}) {
        if (*direct != 0 && !form.reads.has(Parameter::direct)) continue;
        for (const std::string& steps : steps_of(form, collective))
          list.push_back(fmt::format("{}{}{}", width, direct, steps));
      }
    }
    return list;
  }

 private:
  int ranks_;
  std::uint64_t segment_bytes_;
};

}  // namespace

std::vector<Algorithm> variants(Collective collective, int ranks, std::uint64_t segment_bytes) {
  const Variants all(ranks, segment_bytes);
  const hierarchy::Machine machine = hierarchy::Machine::uniform(1, ranks);
  plan::Problem problem = plan::Problem::alltoall(ranks, 0);
  problem.collective = collective;
  std::vector<Algorithm> result;
  const auto add = [&](std::string_view name, std::string settings) {
    if (!settings.empty()) settings.front() = ':';
    const auto algorithm = Algorithm::parse(collective, fmt::format("{}{}", name, settings));
    if (is_reduction(collective) || !algorithm.refusal(problem, machine)) {
      result.push_back(algorithm);
    }
  };
  for (const FlatAlgorithm* flat : flat_algorithms(collective)) {
    for (const std::string& settings : all.settings_of(flat->find(collective)->reads)) {
      add(flat->name, settings);
    }
  }
  for (const Scheme* scheme : schemes(collective)) {
    for (const std::string& settings : all.texts_of(*scheme, collective)) {
      add(scheme->name, settings);
    }
  }
  return result;
}

}  // namespace weft::registry
