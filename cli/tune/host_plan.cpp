// The options of a host tuning, and the job that it runs in.
#include <csignal>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/terminal/output.hpp"
#include "cli/tune/host_tuning.hpp"
#include "device_measurements/mpi_job.hpp"
#include "tune/hosts/mpich_selection.hpp"
#include "tune/hosts/openmpi_rules.hpp"

namespace weft::cli {

namespace {

constexpr const char* kHosts[] = {"openmpi", "mpich"};
constexpr const char* kLaunch[] = {"mpirun", "mpiexec"};

std::span<const plan::Collective> collectives_of(HostFormat format) {
  return format == HostFormat::openmpi ? tune::openmpi::collectives() : tune::mpich::collectives();
}

HostFormat format_of(const TuneOptions& options) {
  return parse_choice("--format", *options.format, {"openmpi", "mpich"}) == 0 ? HostFormat::openmpi
                                                                              : HostFormat::mpich;
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
    : JobPlan(options, collectives_of(format_of(options)),
              fmt::format("--format {} has rules for", *options.format)),
      format(format_of(options)),
      mpi(kHosts[static_cast<int>(format)]),
      search_name(options.experiments.value_or("smgd")) {
  const auto found = plain_search(search_name);
  if (!found) {
    throw_usage("--experiments={}: with --format, must be one of exhaustive, mgd, smgd",
                search_name);
  }
  search = *found;
  if (options.prior || options.doubt) {
    throw_usage("{} is for --experiments prior", options.prior ? "--prior" : "--doubt");
  }
  if (options.trace) throw_usage("--trace: of weft's own algorithms, not with --format");
  if (options.html) throw_usage("--html: of weft's own algorithms, not with --format");
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
