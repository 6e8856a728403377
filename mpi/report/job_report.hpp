// Report of a job: the calls that weft ran and those passed to the host MPI, counted while the
// program runs and written at its end where WEFT_REPORT asks for it. Needs no mpi.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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
};
inline constexpr std::size_t kPassedReasons = 11;
std::string_view reason(Passed passed);

/// Form and destination of the report: none, or a table or JSON to standard error or a file.
struct ReportTarget {
  enum class Form { none, table, json } form = Form::none;
  std::string file;  // empty: standard error

  /// Reads the value of WEFT_REPORT: 0, 1, json, or the name of a file that ends in .json.
  /// UsageError names the value and what is allowed.
  static ReportTarget parse(std::string_view value);
};

/// Counters of this rank for the report. Safe from many threads.
class Tally {
 public:
  void count_passed(plan::Collective collective, Passed why) noexcept {
    passed_[static_cast<std::size_t>(collective)][static_cast<std::size_t>(why)].fetch_add(
        1, std::memory_order_relaxed);
  }
  void add_note(std::string note);
  /// Adds the statistics of a communicator, when it is freed; without its connections, which
  /// communicators share.
  void add(const Statistics& statistics);
  /// Queue pairs of all connections, and how many connections were made anew.
  void set_connections(std::uint64_t pairs, std::uint64_t reconnections);
  /// As text, for merge_report.
  std::string serialize() const;

 private:
  static constexpr std::size_t kCollectives = 32;  // no fewer than there are

  std::array<std::array<std::atomic<std::uint64_t>, kPassedReasons>, kCollectives> passed_ = {};
  mutable std::mutex mutex_;
  std::vector<Statistics::Entry> entries_;
  std::set<std::string> devices_, profiles_, views_, waiting_, notes_;
  std::uint64_t connections_ = 0, reconnections_ = 0, stage_bytes_ = 0, channel_bytes_ = 0;
  std::uint64_t registrations_ = 0, registration_hits_ = 0;
  std::uint64_t heap_bytes_ = 0, xpmem_bytes_ = 0, cma_bytes_ = 0;
};

/// Merges all ranks' tallies into one report. `host` and `machine` are printed as given.
std::string merge_report(const std::vector<std::string>& tallies, ReportTarget::Form form,
                         std::string_view host, std::string_view machine, int nodes);

/// Writes a report to its target; prints one line on standard error when that fails.
void deliver_report(const ReportTarget& target, const std::string& report);

}  // namespace weft::mpi
