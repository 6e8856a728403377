// weft probe: measures an adapter, fits a profile to it and classifies it.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "device_measurements/device_target.hpp"
#include "device_measurements/forked_ranks.hpp"
#include "device_measurements/mpi_job.hpp"
#include "hierarchy/detect.hpp"
#include "nic_profiles/probe/probe.hpp"
#include "nic_profiles/probe/simulated_target.hpp"
#include "nic_profiles/report/report.hpp"
#include "nic_profiles/store.hpp"
#include "nic_profiles/value_text.hpp"

namespace weft::cli {

namespace {

struct ProbeOptions {
  Text simulate, device, peer_device, pairs, budget, html, output;
  bool quick = false;
  bool watch = false;
  bool keep = true;
  bool json = false;
};

constexpr int kSimulatedPairs = 8;
// Defaults of a probe by one process. Two pairs show the effect of a second pair; more pairs than
// the paper's nodes had cores show little.
constexpr int kLeastPairs = 2;
constexpr int kMostPairs = 8;
constexpr int kMostAllowedPairs = 64;
constexpr int kBudget_s = 120;
constexpr int kQuickBudget_s = 30;
constexpr int kMostBudget_s = 24 * 3600;

std::optional<int> pairs_of(const ProbeOptions& options) {
  if (!options.pairs) return std::nullopt;
  return static_cast<int>(env::parse_integer("--pairs", *options.pairs, 1, kMostAllowedPairs));
}

volatile std::sig_atomic_t interrupted = 0;

/// Scope in which the first interrupt sets `interrupted`, and the second one ends the tool. mpirun
/// passes an interrupt on to its ranks as SIGTERM.
class NoteInterrupt {
 public:
  NoteInterrupt() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
  }
  NoteInterrupt(const NoteInterrupt&) = delete;
  NoteInterrupt& operator=(const NoteInterrupt&) = delete;
  ~NoteInterrupt() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
};

int budget_of(const ProbeOptions& options) {
  if (!options.budget) return options.quick ? kQuickBudget_s : kBudget_s;
  return static_cast<int>(env::parse_integer("--budget", *options.budget, 1, kMostBudget_s));
}

/// A line for people who watch: "[12/210] latency of 8 B: 1.2 us, 1.19 us to 1.22 us".
std::string watched(int done, int total, const std::string& name,
                    const nic_profiles::Estimate& taken) {
  std::string line = fmt::format("[{}/{}] {}: {}", done, std::max(done, total), name,
                                 nic_profiles::time_text(taken.ns));
  const nic_profiles::Spread& spread = taken.spread;
  if (spread.repeats > 1) {
    line += fmt::format(", {} to {} in {} repeats", nic_profiles::time_text(spread.low_ns),
                        nic_profiles::time_text(spread.high_ns), spread.repeats);
  }
  if (nic_profiles::looseness(taken) > nic_profiles::kLoose) line += "; wide";
  if (nic_profiles::is_disturbed(taken)) {
    line += fmt::format("; others had the cores for {:.0f} %", 100 * spread.others);
  }
  return line;
}

nic_profiles::Measurements measure(nic_profiles::ProbeTarget& target, const ProbeOptions& options) {
  const NoteInterrupt note;
  std::optional<Progress> bar;
  int done_so_far = 0, total_so_far = 0;
  const auto progress = [&](int done, int total) {
    done_so_far = done;
    total_so_far = total;
    if (options.watch) return interrupted == 0;
    if (!bar) bar.emplace("probing", static_cast<std::uint64_t>(total));
    bar->update(static_cast<std::uint64_t>(done));
    return interrupted == 0;
  };
  nic_profiles::Course course;
  course.effort = options.quick ? nic_profiles::Effort::quick : nic_profiles::Effort::full;
  course.budget_s = budget_of(options);
  if (options.watch) {
    course.taken = [&](const std::string& name, const nic_profiles::Estimate& taken) {
      fmt::print(stderr, "{}\n", watched(done_so_far + 1, total_so_far, name, taken));
    };
  }
  return nic_profiles::probe(target, progress, course);
}

/// Why a profile is not kept; empty: it is.
std::string why_not_kept(const nic_profiles::DeviceName& device,
                         const nic_profiles::Report& report) {
  if (!report.steadiness.why_not.empty()) return report.steadiness.why_not;
  try {
    const auto kept = nic_profiles::load_probed(device);
    return kept ? nic_profiles::why_not_replace(*kept, report.profile) : "";
  } catch (const Error&) {
    return "";  // what is there cannot be read: anything is better
  }
}

/// Keeps the profile for programs to find, where it is steady and no looser than what is kept. Not
/// to do so, or to fail, is a line only, as the result has been printed.
void keep_profile(const nic_profiles::DeviceName& device, const nic_profiles::Report& report,
                  const std::string& json, bool quiet) {
  std::string why_not = why_not_kept(device, report);
  try {
    if (why_not.empty()) {
      const std::string path = nic_profiles::keep_probed(device, json);
      if (!quiet) print(fmt::format("\nprofile kept for programs: {}\n", path));
    }
  } catch (const Error& error) {
    why_not = error.what();
  }
  if (why_not.empty()) return;
  fmt::print(stderr, "weft: the profile is not kept for programs: {}\n", why_not);
}

/// Writes and prints the report. `device`: the device that was probed; null: a simulated one.
int show(const nic_profiles::Report& report, const ProbeOptions& options, OutputFile& output,
         OutputFile& html, const nic_profiles::DeviceName* device) {
  const std::string json = to_json(report);
  output.write(json);
  html.write(to_html(report));
  print(options.json ? json : to_table(report));
  if (!report.measurements.complete) {
    throw Error("interrupted: the result is partial, and marked so");
  }
  if (device != nullptr && options.keep) keep_profile(*device, report, json, options.json);
  return kHolds;
}

int simulate(const ProbeOptions& options) {
  const std::pair<const char*, bool> device_options[] = {
      {"--device", options.device.has_value()}, {"--peer-device", options.peer_device.has_value()}};
  for (const auto& [name, given] : device_options) {
    if (given) throw_usage("{}: not together with --simulate, which needs no device", name);
  }
  nic_profiles::SimulatedTarget target(nic_profiles::load(*options.simulate),
                                       pairs_of(options).value_or(kSimulatedPairs));
  OutputFile output(options.output), html(options.html);
  output.open();
  html.open();
  const nic_profiles::Report report(measure(target, options));
  return show(report, options, output, html, nullptr);
}

int run_as_rank_0(Bootstrap& bootstrap, const ProbeOptions& options) {
  OutputFile output(options.output), html(options.html);
  nic_profiles::DeviceName device;
  nic_profiles::Measurements taken;
  {
    // The files are opened inside the collective set-up, so that a failure reaches the other ranks.
    device_measurements::DeviceTarget target(bootstrap, [&] {
      output.open();
      html.open();
    });
    device = target.device();
    taken = measure(target, options);
  }
  return show(nic_profiles::Report(std::move(taken)), options, output, html, &device);
}

/// Probes as one of several ranks that mpirun or the user has started.
int run_as_rank(std::unique_ptr<Bootstrap> bootstrap, const ProbeOptions& options) {
  if (options.pairs) {
    throw_usage("--pairs={}: only for a probe by one process; here the number of ranks decides",
                *options.pairs);
  }
  if (options.peer_device) {
    throw_usage(
        "--peer-device={}: only for a probe by one process; here each rank has its own "
        "WEFT_DEVICE",
        *options.peer_device);
  }
  if (bootstrap->rank() == 0) return run_as_rank_0(*bootstrap, options);
  // Rank 0 handles the interrupt, and ends the others.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  device_measurements::serve(*bootstrap);
  return kHolds;
}

int run(const ProbeOptions& options) {
  if (options.simulate) return simulate(options);
  if (options.device) ::setenv("WEFT_DEVICE", options.device->c_str(), 1);
  if (env::text("WEFT_SIZE")) return run_as_rank(tcp_bootstrap(), options);
  if (auto job = device_measurements::job_bootstrap()) return run_as_rank(std::move(job), options);
  const int cores = hierarchy::usable_cores();
  const int pairs = pairs_of(options).value_or(std::clamp(cores / 2, kLeastPairs, kMostPairs));
  device_measurements::ForkedRanks ranks(2 * pairs, options.peer_device.value_or(""));
  const auto bootstrap = ranks.bootstrap();
  return run_as_rank_0(*bootstrap, options);
}

}  // namespace

void add_probe(CommandLine& line) {
  const auto options = std::make_shared<ProbeOptions>();
  Command command = line.add_command("probe", "Measure how an adapter behaves, and classify it");
  command.add_option("--device", options->device, "NAME",
                     "The device or port, as WEFT_DEVICE names it");
  command.add_option("--peer-device", options->peer_device, "NAME",
                     "The device of the second node [the same]");
  command.add_option("--pairs", options->pairs, "N",
                     "Ranks on each node [half of the cores, from 2 to 8; 8 simulated]");
  command.add_option("--simulate", options->simulate, "NAME",
                     "Probe the simulated adapter of that name or profile");
  command.add_flag("--quick", options->quick, "Measure fewer sizes");
  command.add_flag("--watch", options->watch,
                   "Print each measurement with its interval as it is taken");
  command.add_option("--budget", options->budget, "SECONDS",
                     "Repeat until so much time has passed [120; 30 with --quick]");
  command.add_flag("--json", options->json, "Print JSON");
  command.add_option("--output", options->output, "FILE",
                     "Write the JSON there; --nic takes it as a profile");
  command.add_option("--html", options->html, "FILE", "Write a page with plots there");
  command.add_clearing_flag("--no-keep", options->keep,
                            "Do not keep the profile for programs to find");
  command.set(
      "Started alone, it starts ranks of two virtual nodes on this machine. Started as ranks on "
      "two\n"
      "nodes, by mpirun or with WEFT_RANK, WEFT_SIZE and WEFT_ROOT, it measures between the "
      "nodes,\n"
      "and rank 0 reports.\n"
      "Each time is taken until its interval is narrow, for a quarter of a second at most; what "
      "is\n"
      "wide, or was disturbed by other programs, is taken again until --budget is spent. What is\n"
      "left then is taken twice only, and the profile is not kept.\n"
      "The profile is kept in WEFT_PROFILES, or in ~/.cache/weft/profiles, unless its numbers are\n"
      "loose, other programs used the cores meanwhile, or what is kept there is better: a line "
      "says\n"
      "why.\n\n"
      "Ctrl-C stops the probe: what was measured is written, marked as partial and not kept, and\n"
      "the tool ends with 1.\n\n"
      "Examples:\n"
      "  weft probe\n"
      "  weft probe --device mlx5_0 --html mlx5_0.html\n"
      "  mpirun --map-by ppr:8:node weft probe\n"
      "  weft probe --simulate mt25208 --html mt25208.html --output mt25208.json",
      [options] { return run(*options); });
}

}  // namespace weft::cli
