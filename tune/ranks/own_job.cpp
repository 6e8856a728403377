#include "tune/ranks/own_job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "comm/setup/settings.hpp"
#include "hierarchy/detect.hpp"
#include "tune/profile_lookup.hpp"

namespace weft::tune {

namespace {

using plan::Collective;

/// Of a communicator whose choices are weft's own, and that sees heaps.
std::unique_ptr<comm::Resources> make_resources(std::unique_ptr<Bootstrap> bootstrap) {
  ::unsetenv("WEFT_TABLE");
  for (const Collective one : plan::all_collectives()) {
    ::unsetenv(comm::algorithm_variable(one).c_str());
  }
  CallBuffers::start_heap();
  return std::make_unique<comm::Resources>(std::move(bootstrap), Options());
}

}  // namespace

OwnJob::OwnJob(std::unique_ptr<Bootstrap> bootstrap)
    : bootstrap_(std::move(bootstrap)),
      resources_(make_resources(borrowed())),
      situation_(resources_->situation()),
      meeting_(borrowed()) {}

std::unique_ptr<Bootstrap> OwnJob::borrowed() {
  return borrowed_bootstrap(*bootstrap_);
}

std::string OwnJob::host() const {
  return hierarchy::host_identity();
}

Facts OwnJob::facts() const {
  return {situation_.machine, situation_.direct, situation_.deterministic, situation_.crowded};
}

plan::Problem OwnJob::problem(Collective collective, std::uint64_t bytes) const {
  plan::Problem problem{collective, bootstrap_->size(), bytes, bytes};
  if (plan::is_reduction(collective)) {
    problem.element_bytes = bytes % sizeof(double) == 0 ? sizeof(double) : 1;
    problem.associative = problem.element_bytes == 1;
  }
  return problem;
}

const OwnJob::Adapter& OwnJob::adapter() {
  if (adapter_) return *adapter_;
  const bool has_nodes = situation_.machine.nodes() > 1;
  const std::string& setting = resources_->settings().profile;
  const auto device = [&] { return has_nodes ? resources_->device() : std::nullopt; };
  const auto found = find_profile_once(setting, device);
  const auto names = adapter_names(found.get(), device());
  adapter_.emplace(Adapter{names.empty() || !has_nodes ? "none" : names.front(),
                           found == nullptr ? "" : found->text});
  return *adapter_;
}

Algorithm OwnJob::own_choice(const plan::Problem& problem) {
  if (!chooser_) {
    chooser_.emplace(situation_);
    // On one node weft goes by fixed rules.
    if (situation_.machine.nodes() > 1) {
      AdapterKnowledge known;
      known.profile = adapter().profile;
      chooser_->learn(known);
    }
  }
  return chooser_->choose(problem);
}

bool OwnJob::prepare(const MeasuredCall& call) {
  buffers_.reset();
  comm_.reset();
  Options options;
  if (!call.algorithm.empty()) options.algorithms[call.collective] = call.algorithm;
  std::vector<int> processes(static_cast<std::size_t>(bootstrap_->size()));
  std::iota(processes.begin(), processes.end(), 0);
  options.network = std::make_shared<const engine::NetworkShare>(
      engine::NetworkShare{networks_.of(0), std::move(processes)});
  comm_.emplace(borrowed(), options);
  buffers_.emplace(problem(plan::parse_collective(call.collective), call.bytes),
                   bootstrap_->rank());
  buffers_->call(*comm_);
  // Whether it was that algorithm.
  return call.algorithm.empty() ||
         std::ranges::all_of(comm_->statistics().entries, [&](const Statistics::Entry& entry) {
           return entry.algorithm == call.algorithm;
         });
}

std::vector<double> OwnJob::run(int calls) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    meeting_.barrier();
    const auto begin = Clock::now();
    buffers_->call(*comm_);
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return times;
}

}  // namespace weft::tune
