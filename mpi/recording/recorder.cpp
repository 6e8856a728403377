#include "mpi/recording/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/file.hpp"
#include "base/ticks.hpp"

namespace weft::mpi {

namespace {

constexpr std::size_t kMostBuffered = 4096;
constexpr std::size_t kBytesOfCall = 8;  // about

/// How many calls are kept before a block is made of them, where a rank may have so many bytes.
std::size_t most_buffered(std::size_t most_bytes) noexcept {
  return std::min(kMostBuffered, most_bytes / kBytesOfCall);
}

/// The closest of a few: between the two clocks the process may lose its core.
ClockReading read_clock() noexcept {
  ClockReading best;
  std::uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::uint64_t before = ticks();
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::uint64_t after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                    static_cast<std::uint64_t>(now.tv_nsec)};
  }
  return best;
}

}  // namespace

Recorder::Recorder(std::string path, int rank, int ranks, bool several_threads)
    : path_(std::move(path)),
      rank_(rank),
      ranks_(ranks),
      several_threads_(several_threads),
      most_bytes_(std::clamp<std::size_t>(kMostJobBytes / static_cast<std::size_t>(ranks), 1024,
                                          kMostRankBytes)),
      buffer_(std::make_unique<Buffered[]>(most_buffered(most_bytes_))),
      next_(buffer_.get()),
      end_(next_ + most_buffered(most_bytes_)),
      sums_(std::make_unique<RecordedSum[]>(kMostKinds + 1)) {
  blocks_ = to_bytes(RecordingBlock{.rank = static_cast<std::uint32_t>(rank_),
                                    .ranks = static_cast<std::uint32_t>(ranks_),
                                    .clock = read_clock()});
  ::unlink(part_path(path_, rank_).c_str());  // of an earlier job
}

std::string Recorder::part_path(const std::string& path, int rank) {
  return fmt::format("{}.part{}", path, rank);
}

std::optional<std::uint32_t> Recorder::add(RecordedCommunicator communicator) {
  const std::lock_guard lock(mutex_);
  if (communicators_.size() == kMostCommunicators) return std::nullopt;
  communicators_.push_back(std::move(communicator));
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

std::uint32_t Recorder::number_of(RecordedKind kind) {
  const std::lock_guard lock(mutex_);
  if (kind.irregular) kind.bytes = rounded(kind.bytes);
  auto known = numbers_.find(kind);
  if (known == numbers_.end() && kinds_.size() >= kExactKinds) {
    kind.bytes = rounded(kind.bytes);
    known = numbers_.find(kind);
  }
  if (known != numbers_.end()) return known->second;
  if (kinds_.size() == kMostKinds) return kUnknown;
  const auto number = static_cast<std::uint32_t>(kinds_.size());
  kinds_.push_back(kind);
  numbers_[kind] = number;
  return number;
}

void Recorder::add_locked(std::uint32_t kind, std::uint64_t begin, std::uint64_t end) noexcept {
  const std::lock_guard lock(mutex_);
  add_alone(kind, begin, end);
}

/// Of all that is in none yet.
RecordingBlock Recorder::block() {
  RecordingBlock block{.rank = static_cast<std::uint32_t>(rank_),
                       .ranks = static_cast<std::uint32_t>(ranks_),
                       .clock = read_clock()};
  block.communicators.assign(communicators_.begin() + static_cast<long>(communicators_written_),
                             communicators_.end());
  block.kinds.assign(kinds_.begin() + static_cast<long>(kinds_written_), kinds_.end());
  communicators_written_ = communicators_.size();
  kinds_written_ = kinds_.size();
  sums_written_.resize(kinds_.size());
  std::uint64_t calls = 0;
  for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    const RecordedSum now = sums_[kind];
    RecordedSum& before = sums_written_[kind];
    calls += now.calls;
    if (now == before) continue;
    block.sums.emplace_back(kind, RecordedSum{now.calls - before.calls, now.ticks - before.ticks});
    before = now;
  }
  for (const Buffered* one = buffer_.get(); one != next_; ++one) {
    const auto kind = static_cast<std::uint32_t>(one->kind_and_ticks >> kTickBits);
    if (kind == kUnknown) continue;
    const std::uint64_t ticks = one->kind_and_ticks & ((std::uint64_t{1} << kTickBits) - 1);
    block.calls.push_back({kind, one->begin, ticks});
  }
  calls_written_ += block.calls.size();
  const std::uint64_t left_out = calls - calls_written_, unknown = sums_[kUnknown].calls;
  block.calls_left_out = left_out - std::exchange(left_out_written_, left_out);
  block.calls_unknown = unknown - std::exchange(unknown_written_, unknown);
  return block;
}

void Recorder::make_block(bool is_last, const std::map<std::string, std::string>& facts) noexcept {
  try {
    RecordingBlock made = block();
    made.is_last = is_last;
    made.facts = facts;
    blocks_ += to_bytes(made);
    next_ = buffer_.get();
    if (is_last || blocks_.size() >= most_bytes_) end_ = next_;
    if (!is_last) write_part();
  } catch (const std::exception&) {
    next_ = end_ = buffer_.get();  // no memory: the rest is counted
  }
}

bool Recorder::write_part() {
  const File file(::open(part_path(path_, rank_).c_str(),
                         O_WRONLY | O_CREAT | O_CLOEXEC | (in_part_ == 0 ? O_TRUNC : O_APPEND),
                         0666));
  if (!file) return false;
  if (in_part_ == 0 && !write_all(file.get(), recording_head())) return false;
  if (!write_all(file.get(), std::string_view(blocks_).substr(in_part_))) return false;
  in_part_ = blocks_.size();
  return true;
}

std::string Recorder::finish(const std::map<std::string, std::string>& facts) {
  const std::lock_guard lock(mutex_);
  make_block(true, facts);
  return blocks_;
}

bool Recorder::keep_part() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (end_ != buffer_.get()) make_block(false, {});
    return in_part_ == blocks_.size() || write_part();
  } catch (const std::exception&) {
    return false;
  }
}

void Recorder::remove_part() noexcept {
  if (in_part_ != 0) ::unlink(part_path(path_, rank_).c_str());
}

}  // namespace weft::mpi
