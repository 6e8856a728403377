// Recording: the collectives of a program's ranks, in the order in which each made them. Written
// where WEFT_TRACE names a file, read by `weft replay`. Its bytes: docs/recording-format.md. Needs
// no mpi.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.hpp"

namespace weft::mpi {

/// Ranks of the world in a row: first, first + stride, ..
struct RankRun {
  std::uint32_t first = 0;
  std::uint32_t stride = 0;  // of one rank: 0
  std::uint32_t count = 0;

  bool operator==(const RankRun&) const = default;
};

/// A communicator as one of its ranks saw it.
struct RecordedCommunicator {
  static constexpr std::size_t kMostRuns = 64;

  std::uint64_t context = 0;  // alike on all of its ranks; 0: not known
  std::uint64_t digest = 0;   // of the members, in their order
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;        // this one's
  std::uint32_t nodes = 0;       // 0: not known
  bool two_groups = false;       // an inter-communicator
  std::vector<RankRun> members;  // as ranks of the world; empty: more than kMostRuns runs

  bool operator==(const RecordedCommunicator&) const = default;
};

/// Calls that differ in their times alone.
struct RecordedKind {
  std::uint32_t communicator = 0;  // of this rank's
  plan::Collective collective = plan::Collective::barrier;
  bool request = false;     // not blocking: its time is that until it had ended, or was begun
  bool served = false;      // by weft; else by the program's MPI
  bool irregular = false;   // `bytes`: what this rank gave in all, rounded to four binary digits
  bool sized = false;       // `bytes` is known
  bool neighbours = false;  // a neighbourhood collective
  bool commutative = true;  // of reductions, as the two below
  bool associative = false;
  std::uint32_t element_bytes = 1;
  std::uint32_t root = 0;   // of rooted collectives
  std::uint64_t bytes = 0;  // of a block, or of the vector

  auto operator<=>(const RecordedKind&) const = default;
};

struct RecordedCall {
  std::uint32_t kind = 0;
  std::uint64_t begin = 0;  // ticks of the rank's host
  std::uint64_t ticks = 0;  // until its end

  bool operator==(const RecordedCall&) const = default;
};

/// All calls of a kind, those without a RecordedCall too.
struct RecordedSum {
  std::uint64_t calls = 0;
  std::uint64_t ticks = 0;

  bool operator==(const RecordedSum&) const = default;
};

struct ClockReading {
  std::uint64_t ticks = 0;
  std::uint64_t real_ns = 0;  // since 1970

  bool operator==(const ClockReading&) const = default;
};

struct RankRecording {
  std::uint32_t rank = 0;
  bool ended = false;        // the rank came to its end; else what it had written before
  ClockReading first, last;  // at MPI_Init, and at the last that was written
  std::vector<RecordedCommunicator> communicators;
  std::vector<RecordedKind> kinds;
  std::vector<RecordedSum> sums;  // one a kind
  std::vector<RecordedCall> calls;
  std::uint64_t calls_left_out = 0;  // that are in `sums` alone
  std::uint64_t calls_unknown = 0;   // that are nowhere else

  bool operator==(const RankRecording&) const = default;

  /// The duration of a tick, by the two readings.
  double ns_per_tick() const;
};

struct Recording {
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kMostRanks = 1 << 20;

  /// What is known of the job, by name: docs/recording-format.md.
  std::map<std::string, std::string> facts;
  std::uint32_t ranks = 1;           // of the job
  std::vector<RankRecording> parts;  // of those that are known, ascending

  bool operator==(const Recording&) const = default;

  /// All ranks are in it, and came to their ends.
  bool is_complete() const;
  /// Empty where the fact is not known.
  const std::string& fact(const std::string& name) const;
};

/// The beginning of a file.
std::string recording_head();

/// A part of a rank's recording, to stand anywhere behind the head and the rank's earlier parts.
struct RecordingBlock {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  bool is_last = false;
  ClockReading clock = {};
  std::map<std::string, std::string> facts = {};
  std::vector<RecordedCommunicator> communicators = {};  // new ones
  std::vector<RecordedKind> kinds = {};                  // likewise
  /// What is to be added to the sums, by kind, ascending.
  std::vector<std::pair<std::uint32_t, RecordedSum>> sums = {};
  std::vector<RecordedCall> calls = {};
  std::uint64_t calls_left_out = 0;  // to be added
  std::uint64_t calls_unknown = 0;
};
std::string to_bytes(const RecordingBlock& block);

/// The whole file.
std::string to_bytes(const Recording& recording);
/// UsageError, "WHERE: at byte N: ..", on bytes that are no recording. `may_be_cut`: a block that
/// the end of the file cuts short is left out, as the writer was killed.
Recording parse_recording(std::string_view where, std::string_view bytes, bool may_be_cut = false);
/// The same from several files of one job, such as those that its ranks left when it was killed.
struct RecordingFile {
  std::string where;
  std::string bytes;
};
Recording merge_recordings(const std::vector<RecordingFile>& files);

/// The world ranks of runs, and back; back: empty where there would be more than kMostRuns.
std::vector<int> ranks_of(const std::vector<RankRun>& runs);
std::vector<RankRun> runs_of(const std::vector<int>& ranks);

/// Rounded to four binary digits: at most 1/16 off.
std::uint64_t rounded(std::uint64_t bytes) noexcept;

}  // namespace weft::mpi
