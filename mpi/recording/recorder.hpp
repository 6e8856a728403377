// Recorder: writes down the collectives of this rank while the program runs. Needs no mpi.h.
//
// A call is a kind, which most calls share with many others, and two readings of the processor's
// counter: a few stores into a buffer, and no call of the system. A full buffer becomes a block
// (recording.hpp), which is kept, and written to the rank's part file, so that it is not lost with
// the process. At the end rank 0 gathers the blocks of all ranks into one file.
//
// What a rank writes is bounded: kMostJobBytes over all ranks, kMostRankBytes each. Behind that
// calls are counted, and their times added up by kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/recording/recording.hpp"

namespace weft::mpi {

class Recorder {
 public:
  static constexpr std::size_t kMostJobBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMostRankBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostCommunicators = 4096;
  static constexpr std::uint32_t kMostKinds = 4095;
  /// Sizes of further kinds are rounded, as those of irregular calls always are.
  static constexpr std::size_t kExactKinds = 1024;
  /// Of calls that are counted and nothing else.
  static constexpr std::uint32_t kUnknown = kMostKinds;

  /// `path`: of the job's file; the part file lies beside it. `several_threads`: calls may come
  /// from several at the same time.
  Recorder(std::string path, int rank, int ranks, bool several_threads);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// That of this process; null: nothing is recorded.
  static Recorder* get() noexcept { return current_; }
  static void set(Recorder* recorder) noexcept { current_ = recorder; }

  bool is_for_one_thread() const noexcept { return !several_threads_; }

  /// The number of a communicator, for kinds; nothing: there are too many. Each communicator of the
  /// program is added once.
  std::optional<std::uint32_t> add(RecordedCommunicator communicator);
  /// The number of a kind, a new one where there is none like it; kUnknown: there are too many.
  std::uint32_t number_of(RecordedKind kind);

  /// A call of this kind, from and to these ticks.
  void add(std::uint32_t kind, std::uint64_t begin, std::uint64_t end) noexcept {
    if (several_threads_) [[unlikely]]
      return add_locked(kind, begin, end);
    add_alone(kind, begin, end);
  }

  /// All blocks of this rank, the last with these facts. Nothing can be added afterwards.
  std::string finish(const std::map<std::string, std::string>& facts);
  /// Writes what is there to the part file: the process may end. False: it could not be written.
  bool keep_part() noexcept;
  /// When all of it is in the job's file.
  void remove_part() noexcept;
  static std::string part_path(const std::string& path, int rank);

 private:
  static constexpr unsigned kTickBits = 48;

  struct Buffered {
    std::uint64_t begin;
    std::uint64_t kind_and_ticks;  // the kind above kTickBits
  };

  void add_alone(std::uint32_t kind, std::uint64_t begin, std::uint64_t end) noexcept {
    constexpr std::uint64_t kMost = (std::uint64_t{1} << kTickBits) - 1;
    const std::uint64_t ticks = end - begin;
    RecordedSum& sum = sums_[kind];
    ++sum.calls;
    sum.ticks += ticks;
    if (next_ == end_) return;
    *next_++ = {begin, std::uint64_t{kind} << kTickBits | (ticks < kMost ? ticks : kMost)};
    if (next_ == end_) [[unlikely]]
      make_block(false, {});
  }
  [[gnu::noinline]] void add_locked(std::uint32_t kind, std::uint64_t begin,
                                    std::uint64_t end) noexcept;
  [[gnu::noinline, gnu::cold]] void make_block(
      bool is_last, const std::map<std::string, std::string>& facts) noexcept;
  RecordingBlock block();
  bool write_part();

  static inline constinit Recorder* current_ = nullptr;

  const std::string path_;
  const int rank_, ranks_;
  const bool several_threads_;
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::unique_ptr<Buffered[]> buffer_;
  Buffered* next_;
  Buffered* end_;                        // next_: nothing more is written down
  std::unique_ptr<RecordedSum[]> sums_;  // by kind
  // What is not in a block yet begins at these.
  std::vector<RecordedCommunicator> communicators_;
  std::vector<RecordedKind> kinds_;
  std::map<RecordedKind, std::uint32_t> numbers_;
  std::size_t communicators_written_ = 0, kinds_written_ = 0;
  std::vector<RecordedSum> sums_written_;
  std::uint64_t calls_written_ = 0, unknown_written_ = 0, left_out_written_ = 0;
  std::string blocks_;
  std::size_t in_part_ = 0;  // bytes of blocks_ that are in the part file
};

}  // namespace weft::mpi
