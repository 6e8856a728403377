// The options of a rank tuning, and the job that it runs in.
#include <csignal>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/tune/carry_out.hpp"
#include "cli/tune/rank_tuning.hpp"
#include "device_measurements/mpi_job.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

/// All but alltoallv, whose ranks know only their own counts.
std::vector<Collective> tuned_collectives() {
  std::vector<Collective> all;
  for (const Collective one : plan::all_collectives()) {
    if (one != Collective::alltoallv) all.push_back(one);
  }
  return all;
}

int run_on_rank_0(const RankPlan& plan, tune::OwnJob& job, const TuneOptions& options) {
  RankTuning tuning(plan, job, options.journal);
  return carry_out(tuning, options, [&] { return tuning.to_text(options.table); });
}

}  // namespace

RankPlan::RankPlan(const TuneOptions& options)
    : JobPlan(options, tuned_collectives(), "on the ranks of a job tables are for"),
      search_name(options.experiments.value_or("")),
      prior(options.prior),
      trace(options.trace),
      doubt(options.doubt_part()) {
  if (!search_name.empty() && search_name != "prior" && !plain_search(search_name)) {
    throw_usage("--experiments={}: on ranks, must be one of exhaustive, mgd, smgd, prior",
                search_name);
  }
  const bool may_predict = search_name.empty() || search_name == "prior";
  if (!may_predict && options.doubt) throw_usage("--doubt is for --experiments prior");
  if (trace && options.scenario.bytes) {
    throw_usage("--bytes: not with --trace, whose calls say which sizes");
  }
  if (options.held_out) throw_usage("--held-out: for simulated experiments, not on ranks");
  if (options.scenario.operation) {
    throw_usage("--operation: not on ranks, where sums are measured");
  }
}

bool is_rank_of_a_job() {
  return env::text("WEFT_SIZE") || device_measurements::launching_mpi();
}

int tune_ranks(const TuneOptions& options) {
  const RankPlan plan(options);
  auto bootstrap = env::text("WEFT_SIZE") ? tcp_bootstrap() : device_measurements::job_bootstrap();
  tune::OwnJob job(std::move(bootstrap));
  if (job.bootstrap().rank() == 0) return run_on_rank_0(plan, job, options);
  // Rank 0 handles the interrupt, and ends the others.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  serve(job);
  return kHolds;
}

}  // namespace weft::cli
