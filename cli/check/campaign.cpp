#include "cli/check/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "cli/terminal/progress.hpp"
#include "plan/verify/verify.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kFindings = 3;  // of one case

/// An estimate of the time of a case, in any unit.
std::uint64_t weight(const Case& one) {
  const auto ranks = static_cast<std::uint64_t>(one.machine->ranks());
  return ranks * (ranks + 10);
}

Proof prove_case(const Case& one) {
  try {
    std::vector<plan::Plan> plans;
    plans.reserve(static_cast<std::size_t>(one.machine->ranks()));
    for (int rank = 0; rank < one.machine->ranks(); ++rank) {
      plans.push_back(one.algorithm->plan(*one.problem, *one.machine, rank));
    }
    return prove(*one.problem, *one.machine, plans);
  } catch (const std::exception& error) {
    Proof proof;
    proof.findings = {std::string("no plan: ") + error.what()};
    return proof;
  }
}

/// Queue of cases, the longest first, so that no thread starts a long case at the end.
class Work {
 public:
  explicit Work(std::span<const Case> cases)
      : cases_(cases), order_(cases.size()), proofs_(cases.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::ranges::greater(),
                             [&](std::size_t i) { return weight(cases_[i]); });
    for (const Case& one : cases_) total_ += weight(one);
  }

  void run() {
    for (std::size_t next = next_++; next < order_.size(); next = next_++) {
      const std::size_t number = order_[next];
      proofs_[number] = prove_case(cases_[number]);
      done_ += weight(cases_[number]);
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_one();
  }

  /// Draws the progress bar until `threads` threads have left run().
  void watch(int threads) {
    Progress progress("check", total_);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(200),
                              [&] { return finished_ == threads; })) {
      progress.update(done_);
    }
  }

  std::vector<Proof> take() && { return std::move(proofs_); }

 private:
  std::span<const Case> cases_;
  std::vector<std::size_t> order_;
  std::vector<Proof> proofs_;  // each written by one thread
  std::uint64_t total_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int finished_ = 0;  // threads; guarded by mutex_
};

}  // namespace

Proof prove(const plan::Problem& problem, const hierarchy::Machine& machine,
            std::span<const plan::Plan> plans) {
  Proof proof;
  proof.plans = plans.size();
  for (const plan::Plan& plan : plans) {
    proof.ops += plan.ops().size();
    proof.messages += static_cast<std::uint64_t>(
        std::ranges::count(plan.ops(), plan::OpKind::send, &plan::Op::kind));
  }
  plan::VerifyOptions options;
  options.limit = kFindings;
  for (const auto& finding : plan::verify(problem, machine.node_of_rank(), plans, options)) {
    proof.findings.push_back(to_string(finding));
  }
  return proof;
}

std::vector<Proof> prove_all(std::span<const Case> cases, int threads) {
  Work work(cases);
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([&work] { work.run(); });
    work.watch(threads);
  }
  return std::move(work).take();
}

}  // namespace weft::cli
