// Report of a job: the calls that weft ran and those passed to the host MPI, counted while the
// program runs and written at its end where WEFT_REPORT asks for it. Needs no mpi.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "comm/setup/stopwatch.hpp"
#include "mpi/summary/summary.hpp"
#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// "weft: LINE" on standard error, in one write so that the lines of ranks do not mix.
void print_line(std::string_view line);

/// Reasons for passing a call to the host MPI.
enum class Passed {
  disabled,
  arguments,
  no_bytes,
  one_rank,
  intercommunicator,
  foreign_ranks,
  setup_failed,
  being_freed,
  few_calls,
  unknown_origin,
  no_progress,
  raced,
  new_size,
  lonely_rank,
  several_pending,
  copied,  // not by the host, but beside weft's collectives, too
};
inline constexpr std::size_t kPassedReasons = 16;
std::string_view reason(Passed passed);

/// Form and destination of the report: none, or a table, JSON or a page to standard error or a
/// file.
struct ReportTarget {
  enum class Form { none, table, json, html } form = Form::none;
  std::string file;  // empty: standard error

  /// Reads the value of WEFT_REPORT: 0, 1, json, or the name of a file that ends in .json or .html.
  /// UsageError names the value and what is allowed.
  static ReportTarget parse(std::string_view value);
};

/// Calls of one kind that were passed through, and the time of the host in them. Safe from many
/// threads.
struct PassedCount {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> ticks{0};
};

/// Those of the communicators of one shape. Safe from many threads.
class PassedCounts {
 public:
  PassedCount& of(plan::Collective collective, Passed why) noexcept {
    return by_reason_[static_cast<std::size_t>(collective)][static_cast<std::size_t>(why)];
  }
  /// Of calls whose size all ranks know, between the same powers of two. Stays where it is.
  PassedCount& of(plan::Collective collective, Passed why, std::uint64_t block_bytes);
  void add_to(Summary& summary, const Shape& shape, const comm::Stopwatch& stopwatch) const;

 private:
  static constexpr std::size_t kCollectives = 16;  // no fewer than there are

  std::array<std::array<PassedCount, kPassedReasons>, kCollectives> by_reason_ = {};
  mutable std::mutex mutex_;
  std::map<std::tuple<plan::Collective, Passed, std::uint64_t>, PassedCount> by_size_;
};

/// Counters of this rank for the report. Safe from many threads.
class Tally {
 public:
  /// Of communicators of this shape. Stays where it is.
  PassedCounts& passed(const Shape& shape);
  /// Of communicators that were not looked at.
  PassedCounts& passed_unseen() noexcept { return unseen_; }
  void add_note(std::string note);
  /// Adds the statistics of a communicator of these ranks of the world, when it is freed; without
  /// its connections, which communicators share.
  void add(const Statistics& statistics, const Shape& shape, std::span<const int> members);
  /// Time for setting up communicators.
  void add_setup_ticks(std::uint64_t ticks);
  /// Queue pairs of all connections, and how many connections were made anew.
  void set_connections(std::uint64_t pairs, std::uint64_t reconnections);
  /// What this rank counted, one of `ranks`.
  Summary summary(int rank, int ranks) const;

 private:
  // Of more ranks nobody asks who sent how much to whom: it grows with their square.
  static constexpr int kMostSent = 256;

  comm::Stopwatch stopwatch_;
  mutable std::mutex mutex_;
  std::map<Shape, PassedCounts> passed_;
  PassedCounts& unseen_ = passed_[Shape{}];
  Summary counted_;
  std::set<std::string> devices_, profiles_, views_, waiting_, notes_;
  std::map<int, std::uint64_t> sent_;  // by world rank
  double setup_seconds_ = 0;
  std::uint64_t setup_ticks_ = 0;
};

/// Merges what all ranks counted, given as JSON, into a report.
std::string report_of(std::span<const std::string> ranks, ReportTarget::Form form);

/// Writes a report to its target; prints one line on standard error when that fails.
void deliver_report(const ReportTarget& target, const std::string& report);

}  // namespace weft::mpi
