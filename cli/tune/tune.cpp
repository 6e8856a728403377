// weft tune: searches for the fastest algorithm and segment of a collective at each size, by few
// experiments, simulated or on real ranks, and writes a decision table.
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/tune/carry_out.hpp"
#include "cli/tune/simulated_tuning.hpp"
#include "cli/tune/tune_options.hpp"
#include "tune/decision_table.hpp"

namespace weft::cli {

namespace {

int merge(const TuneOptions& options) {
  if (options.scenario.collective) {
    throw_usage("--merge joins tables and tunes nothing: leave {} away",
                *options.scenario.collective);
  }
  tune::DecisionTable table = tune::load_table(options.merge.front());
  for (std::size_t i = 1; i < options.merge.size(); ++i) {
    try {
      table.merge(tune::load_table(options.merge[i]));
    } catch (const UsageError& error) {
      throw_usage("--merge {}: {}", options.merge[i], error.what());
    }
  }
  OutputFile file(options.table);
  file.open();
  file.write(to_json(table));
  if (!options.table) print(to_json(table));
  return kHolds;
}

int run(const TuneOptions& options) {
  if (!options.merge.empty()) return merge(options);
  if (options.format) return tune_host(options);
  if (!options.scenario.nic && is_rank_of_a_job()) return tune_ranks(options);
  SimulatedTuning tuning(options);
  return carry_out(tuning, options, [&] { return tuning.to_text(); });
}

void add_options(Command& command, TuneOptions& options) {
  options.scenario.add_to(command);
  command.add_option("--experiments", options.experiments, "SEARCH",
                     "exhaustive; mgd or smgd, which descend to ever smaller segments;\n"
                     "pipeline: segments by a short chain; prior: only what predictions leave\n"
                     "in doubt [smgd]");
  command.add_option("--grid", options.grid, "STEP",
                     "Search each STEP-th size only, and interpolate those between [1]");
  command.add_option("--prior", options.prior, "NIC",
                     "The profile that predicts [on ranks that of the adapter]");
  command.add_option("--doubt", options.doubt, "PERCENT",
                     "How far predictions may be off, either way [25, and less as is learnt]");
  command.add_option("--least-segment", options.least_segment, "BYTES",
                     "The smallest segment to try [1024]");
  command.add_option("--journal", options.journal, "FILE",
                     "Keep each measurement in FILE; the same command goes on from there");
  command.add_option("--table", options.table, "FILE",
                     "Write a table of what was found (JSON), for WEFT_TABLE");
  command.add_option("--format", options.format, "MPI",
                     "openmpi, mpich: measure that MPI's own algorithms, on the ranks of the job\n"
                     "in which this runs (of COLLECTIVE,.. or all), and write the file that it\n"
                     "loads to --table");
  command.add_repeated("--merge", options.merge, "TABLE",
                       "Join tables for one machine and adapter instead, to --table or standard\n"
                       "output; of two for one collective the later one counts (repeatable)");
  command.add_option("--trace", options.trace, "FILE",
                     "On ranks: tune the calls of a recording (WEFT_TRACE), at its sizes");
  command.add_option("--html", options.html, "FILE",
                     "Write a page there: who wins where, times, regret");
  command.add_flag("--held-out", options.held_out,
                   "Search exhaustively, too: the regret at sizes half-way between those that\n"
                   "were tuned, and the calls until the tuning has paid (simulated)");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_tune(CommandLine& line) {
  const auto options = std::make_shared<TuneOptions>();
  Command command = line.add_command(
      "tune", "Search for the fastest algorithm and segment at each size, by few experiments");
  add_options(command, *options);
  command.set(
      "With --nic experiments are simulated, on the machine and the adapter of the options. As a "
      "rank of\na job (mpirun -n 8 weft tune ..) without --nic they are calls of weft on those "
      "ranks, of\nCOLLECTIVE,.. or all. Without --bytes all powers of two up to 4 MiB are "
      "tuned.\n\n"
      "Examples:\n"
      "  weft tune broadcast --nodes 8 --ppn 1 --nic mt25208 --bytes 8,1K,64K\n"
      "  weft tune scatter --machine 8x1 --nic mt25208 --bytes 1K,64K --experiments mgd --json\n"
      "  mpirun -n 8 weft tune allreduce,broadcast --bytes 8..1M --table table.json\n"
      "  mpirun -n 16 weft tune allreduce,broadcast --format openmpi --table rules.conf\n"
      "  weft tune reduce --machine 4x2 --nic soft --bytes 1K --journal reduce.log --table "
      "t.json\n",
      [options] { return run(*options); });
}

}  // namespace weft::cli
