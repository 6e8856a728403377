// The options of a host tuning, and the job that it runs in.
#include <algorithm>
#include <csignal>
#include <sstream>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/problem_options.hpp"
#include "cli/terminal/output.hpp"
#include "cli/tune/host_tuning.hpp"
#include "device_measurements/mpi_job.hpp"
#include "tune/hosts/mpich_selection.hpp"
#include "tune/hosts/openmpi_rules.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

constexpr const char* kHosts[] = {"openmpi", "mpich"};
constexpr const char* kLaunch[] = {"mpirun", "mpiexec"};

std::string names_of(std::span<const Collective> collectives) {
  std::string names;
  for (const Collective one : collectives) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(one));
  }
  return names;
}

/// All, or those of the text, joined by commas.
std::vector<Collective> collectives_of(const Text& text, HostFormat format) {
  const auto all =
      format == HostFormat::openmpi ? tune::openmpi::collectives() : tune::mpich::collectives();
  if (!text) return {all.begin(), all.end()};
  std::vector<Collective> chosen;
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    const Collective one = plan::parse_collective(word);
    if (std::ranges::find(all, one) == all.end()) {
      throw_usage("{}: --format {} has rules for {} alone", word, kHosts[static_cast<int>(format)],
                  names_of(all));
    }
    if (std::ranges::find(chosen, one) == chosen.end()) chosen.push_back(one);
  }
  return chosen;
}

void refuse_what_the_job_decides(const ScenarioOptions& options) {
  const auto refuse = [](const char* option) {
    throw_usage("{}: not with --format, where the job that runs decides", option);
  };
  if (options.machine.given() || options.uneven) refuse("--machine, --nodes, --ppn, --uneven");
  if (options.nic) refuse("--nic");
  if (options.root) refuse("--root");
  if (options.element) refuse("--element");
  if (options.counts) refuse("--counts");
  if (options.in_place) refuse("--in-place");
}

/// UsageError unless this is a job of the MPI that reads the format.
void check_launcher(const std::string& mpi, HostFormat format) {
  const auto found = device_measurements::launching_mpi();
  if (!found) {
    throw_usage(
        "--format {0}: must be run by that MPI's launcher, on two ranks or more: {1} -n 8 weft "
        "tune --format {0}",
        mpi, kLaunch[static_cast<int>(format)]);
  }
  if (*found != mpi) {
    throw_usage("--format {}: this job was started by {}: take --format {}, or the other launcher",
                mpi, *found, *found);
  }
}

int run_on_rank_0(const HostPlan& plan, tune::HostJob& job, const TuneOptions& options) {
  HostTuning tuning(plan, job, options.journal);
  OutputFile file(options.table);
  tuning.run();
  const std::string text = tuning.file();
  file.open();  // here, so that a tuning that is ended leaves the old file as it was
  file.write(text);
  if (options.json) {
    print_json(tuning.to_json_form());
  } else {
    print(tuning.to_text(options.table));
  }
  return kHolds;
}

}  // namespace

HostPlan::HostPlan(const TuneOptions& options)
    : format(parse_choice("--format", *options.format, {"openmpi", "mpich"}) == 0
                 ? HostFormat::openmpi
                 : HostFormat::mpich),
      mpi(kHosts[static_cast<int>(format)]),
      collectives(collectives_of(options.scenario.collective, format)),
      sizes(
          parse_sizes("--bytes", options.scenario.bytes.value_or(all_sizes()), 1, kMostBlockBytes)),
      search_name(options.experiments.value_or("smgd")),
      step(options.grid_step()),
      least_segment(options.least_segment_bytes()) {
  refuse_what_the_job_decides(options.scenario);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const auto found = plain_search(search_name);
  if (!found) {
    throw_usage("--experiments={}: with --format, must be one of exhaustive, mgd, smgd",
                search_name);
  }
  search = *found;
  if (options.prior || options.doubt) {
    throw_usage("{} is for --experiments prior", options.prior ? "--prior" : "--doubt");
  }
  if (options.held_out) throw_usage("--held-out: for simulated experiments, not with --format");
  if (options.scenario.operation) {
    takes_unordered = parse_choice("--operation", *options.scenario.operation,
                                   {"commutative", "ordered", "exact"}) != 1;
  }
}

int tune_host(const TuneOptions& options) {
  const HostPlan plan(options);
  check_launcher(plan.mpi, plan.format);
  using Make = tune::HostJob* (*)();
  const auto make =
      reinterpret_cast<Make>(device_measurements::job_function(plan.mpi, "weft_host_job"));
  const std::unique_ptr<tune::HostJob> job(make());
  if (job->bootstrap().rank() == 0) return run_on_rank_0(plan, *job, options);
  // Rank 0 handles the interrupt, and ends the others.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  serve(*job);
  return kHolds;
}

}  // namespace weft::cli
