#include "device_measurements/disturbance.hpp"

#include <algorithm>
#include <set>

namespace weft::device_measurements {

namespace {

/// What is sure to be others', of the time of some cores.
double share_of(double ns, double window_ns, int cores, double unsure_ns) {
  const double whole_ns = window_ns * cores;
  return whole_ns > 0 ? std::clamp((ns - unsure_ns) / whole_ns, 0.0, 1.0) : 0;
}

}  // namespace

void Disturbance::add_rank(std::size_t rank, const CoreTimes& times) {
  if (now_.task_ns.size() <= rank) {
    now_.task_ns.resize(rank + 1);
    now_.waited_ns.resize(rank + 1);
  }
  now_.task_ns[rank] += times.task_ns;
  now_.waited_ns[rank] += times.waited_ns;
  use_.preempted += static_cast<std::uint64_t>(times.preempted);
}

void Disturbance::add(const std::vector<RankTimes>& ranks, bool shares_core) {
  for (const int kernel : {0, 1}) {
    const auto here = [&](const RankTimes& one) { return one.kernel == kernel; };
    const auto first = std::ranges::find_if(ranks, here);
    if (first == ranks.end()) continue;
    const auto active = std::ranges::count_if(
        ranks, [&](const RankTimes& one) { return here(one) && one.is_active; });
    const CoreTimes& seen = first->times;
    const bool is_crowded = shares_core || (seen.cores > 0 && active > seen.cores);
    double ran_ns = 0, ran_user_ns = 0;
    std::set<pid_t> counted;  // ranks may be threads of one process
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const CoreTimes& times = ranks[rank].times;
      if (!here(ranks[rank])) continue;
      if (ranks[rank].is_active && !is_crowded) add_rank(rank, times);
      if (!counted.insert(times.process).second) continue;
      ran_ns += times.ran_ns;
      ran_user_ns += times.ran_user_ns;
    }
    for (Cores* cores : {&now_.crowded[kernel], &now_.all[kernel]}) {
      if (cores == &now_.crowded[kernel] && !is_crowded) continue;
      cores->window_ns += seen.window_ns;
      cores->others_ns += seen.all_ns - ran_ns;
      cores->stolen_ns += seen.stolen_ns;
      cores->cores = seen.cores;
    }
    if (kernel == 0) use_.seconds += seen.window_ns / 1e9;
    cores_[kernel] = std::max(cores_[kernel], seen.cores);
    use_.cores = cores_[0] + cores_[1];
    // Work of the kernel itself, such as the adapter's, is nobody else's.
    if (seen.window_ns > 0) use_.others_s += (seen.all_user_ns - ran_user_ns) / 1e9;
    use_.stolen_s += seen.stolen_ns / 1e9;
  }
}

double Disturbance::share() const {
  double share = 0;
  for (std::size_t rank = 0; rank < now_.task_ns.size(); ++rank) {
    share = std::max(share, share_of(now_.waited_ns[rank], now_.task_ns[rank], 1, 0));
  }
  for (const Cores& one : now_.crowded) {
    share =
        std::max(share, share_of(one.others_ns, one.window_ns, one.cores, one.cores * tick_ns()));
  }
  for (const Cores& one : now_.all) {
    share = std::max(share, share_of(one.stolen_ns, one.window_ns, one.cores, tick_ns()));
  }
  return share;
}

}  // namespace weft::device_measurements
