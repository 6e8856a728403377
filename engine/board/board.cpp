#include "engine/board/board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::engine::board {

namespace {

// The file grows and shrinks by this; and the most that it may have, all of it mapped at once.
constexpr std::size_t kStep = 32 << 10;
constexpr std::size_t kMostBytes = 16 << 20;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The board of this process. Its file is as long as its postings need, and is mapped once, beyond
/// its end: nothing is touched there. Thread safe.
class Board {
 public:
  /// A child of fork() gets one of its own: the parent's is not written any more.
  static Board& here() {
    static std::mutex mutex;
    static Board* board = nullptr;
    const std::lock_guard lock(mutex);
    if (board == nullptr || board->process_ != ::getpid()) board = new Board;
    return *board;
  }

  /// Memory of so many bytes, all zero but for the two words with which each piece begins. Error
  /// where there is none.
  Posting* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto is_enough = [bytes](const auto& one) { return one.second >= bytes; };
    auto found = std::ranges::find_if(free_, is_enough);
    if (found == free_.end()) {
      grow(bytes);
      found = std::ranges::find_if(free_, is_enough);
    }
    const auto [at, size] = *found;
    free_.erase(found);
    if (size > bytes) add_free(at + bytes, size - bytes);
    std::memset(static_cast<void*>(memory_ + at), 0, bytes);
    auto* posting = reinterpret_cast<Posting*>(memory_ + at);
    posting->total_bytes.store(bytes, std::memory_order_release);
    return posting;
  }
  void give_back(Posting* posting) noexcept {
    posting->magic.store(0, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    try {
      add_free(offset_of(posting), posting->total_bytes.load(std::memory_order_relaxed));
      shrink();
    } catch (const std::bad_alloc&) {
      // Stays unused.
    }
  }
  Posting* at(std::size_t offset) const noexcept {
    return reinterpret_cast<Posting*>(memory_ + offset);
  }
  std::size_t offset_of(const void* memory) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(memory) - memory_);
  }

 private:
  Board() : file_(make_file()), bytes_(kStep) {
    // Whoever opens it by /proc must be this user, as nobody else may look there.
    if (::fchmod(file_.get(), S_IRUSR | S_IWUSR) != 0) throw_errno("fchmod(board)");
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw_errno("fstat(board)");
    inode_ = status.st_ino;
    mapping_ = Mapping(file_.get(), kMostBytes);
    memory_ = mapping_.data();
    auto* header = new (memory_) Header;
    header->process = process_;
    header->posting_bytes = sizeof(Posting);
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    header->ticks = ticks();
    header->monotonic_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    add_free(sizeof(Header), kStep - sizeof(Header));
  }

  static File make_file() {
    leave_descriptors(1);
    return make_memory_file(kLabel, kStep);
  }

  /// Joined to what is free around it, and described as readers go through it.
  void add_free(std::size_t at, std::size_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == at) {
      at = std::prev(next)->first;
      bytes += std::prev(next)->second;
    }
    free_[at] = bytes;
    auto* piece = reinterpret_cast<Posting*>(memory_ + at);
    piece->magic.store(0, std::memory_order_relaxed);
    piece->total_bytes.store(bytes, std::memory_order_release);
  }

  /// A program that closes all descriptors may have another file there by now.
  bool is_open() const noexcept {
    struct stat status {};
    return ::fstat(file_.get(), &status) == 0 && status.st_ino == inode_;
  }

  void grow(std::size_t bytes) {
    const std::size_t more = (bytes + kStep - 1) / kStep * kStep;
    if (bytes_ + more > kMostBytes) {
      throw Error(
          fmt::format("the board of this process has {} bytes, and {} more are wanted: at "
                      "most {} are allowed",
                      bytes_, more, kMostBytes));
    }
    if (!is_open()) throw Error("the descriptor of the board was closed");
    const int error =
        ::posix_fallocate(file_.get(), static_cast<off_t>(bytes_), static_cast<off_t>(more));
    if (error != 0) throw SystemError("posix_fallocate(board)", error);
    bytes_ += more;
    add_free(bytes_ - more, more);
  }

  /// Gives free memory at the end back.
  void shrink() {
    const auto last = std::prev(free_.end());
    if (last->first + last->second != bytes_) return;
    const std::size_t at = last->first;
    const std::size_t least = (at + kAlignment + kStep - 1) / kStep * kStep;
    if (least >= bytes_ || !is_open()) return;
    free_.erase(last);
    add_free(at, least - at);
    if (::ftruncate(file_.get(), static_cast<off_t>(least)) == 0) bytes_ = least;
  }

  const pid_t process_ = ::getpid();
  File file_;
  ino_t inode_ = 0;
  std::size_t bytes_;  // of the file
  Mapping mapping_;
  std::byte* memory_ = nullptr;
  std::map<std::size_t, std::size_t> free_;  // offset, bytes: none touch
  std::mutex mutex_;
};

/// The piece with the answers of a posting on this process's board; null: there is none yet.
Posting* answers_of(const Posting& posting) {
  const std::uint64_t at = posting.answers_at.load(std::memory_order_relaxed);
  return at == 0 ? nullptr : Board::here().at(at);
}

}  // namespace

Poster::~Poster() {
  if (posting_ == unseen_.get() || process_ != ::getpid()) return;
  if (Posting* answers = answers_of(*posting_)) Board::here().give_back(answers);
  Board::here().give_back(posting_);
}

void Poster::show(std::uint64_t communicator, int rank, int size, int node,
                  std::span<const Neighbour> neighbours) {
  const std::size_t bytes = aligned(sizeof(Posting) + neighbours.size() * sizeof(Member));
  process_ = ::getpid();
  try {
    posting_ = Board::here().take(bytes);
  } catch (const Error&) {
    return;  // unseen
  }
  unseen_.reset();
  posting_->communicator.store(communicator, std::memory_order_relaxed);
  posting_->rank.store(rank, std::memory_order_relaxed);
  posting_->size.store(size, std::memory_order_relaxed);
  posting_->node.store(node, std::memory_order_relaxed);
  Member* member = posting_->member_list();
  for (const Neighbour& one : neighbours) {
    member->rank.store(one.rank, std::memory_order_relaxed);
    member->process.store(one.process.number, std::memory_order_relaxed);
    member->start.store(one.process.start, std::memory_order_relaxed);
    member->clock.store(one.process.clock, std::memory_order_relaxed);
    ++member;
  }
  posting_->members.store(static_cast<std::int32_t>(neighbours.size()), std::memory_order_relaxed);
  posting_->magic.store(kPostingMagic, std::memory_order_release);
}

std::uint16_t Poster::algorithm(std::string_view name) noexcept {
  name = name.substr(0, kNameBytes - 1);
  for (std::uint16_t i = 1; i < kNames; ++i) {
    auto& known = posting_->names[i];
    if (known[0] == '\0') std::memcpy(known.data(), name.data(), name.size());
    if (name == known.data()) return i;
  }
  return 0;
}

void Poster::begin_setup(std::uint64_t what, std::uint64_t bytes) noexcept {
  posting_->setup_what.store(what, std::memory_order_relaxed);
  posting_->setup_bytes.store(bytes, std::memory_order_relaxed);
  posting_->phase_since.store(ticks(), std::memory_order_relaxed);
  posting_->phase.store(static_cast<std::uint32_t>(Phase::setting_up), std::memory_order_release);
}

void Poster::end_setup() noexcept {
  auto setting_up = static_cast<std::uint32_t>(Phase::setting_up);
  posting_->phase.compare_exchange_strong(setting_up, static_cast<std::uint32_t>(Phase::calls));
}

void Poster::fail() noexcept {
  posting_->phase_since.store(ticks(), std::memory_order_relaxed);
  posting_->phase.store(static_cast<std::uint32_t>(Phase::failed), std::memory_order_release);
}

void Poster::begin_waits(std::uint64_t tag, std::string_view operation) noexcept {
  posting_->waits.store(0, std::memory_order_release);
  posting_->waiting_tag.store(tag, std::memory_order_relaxed);
  const std::size_t length = std::min(operation.size(), kNameBytes - 1);
  std::memcpy(posting_->operation.data(), operation.data(), length);
  posting_->operation[length] = '\0';
}

void Poster::add_wait(WaitKind kind, std::uint64_t flags, std::uint32_t op, int peer,
                      std::uint64_t bytes, std::uint64_t moved, const Link& link) noexcept {
  const std::uint32_t at = posting_->waits.load(std::memory_order_relaxed);
  if (at >= kWaits) return;
  Wait& wait = posting_->waiting[at];
  wait.what.store(std::uint64_t{op} << 32 | flags | static_cast<std::uint64_t>(kind),
                  std::memory_order_relaxed);
  wait.peer.store(static_cast<std::uint64_t>(peer), std::memory_order_relaxed);
  wait.bytes.store(bytes, std::memory_order_relaxed);
  wait.moved.store(moved, std::memory_order_relaxed);
  wait.link.store(link.word(), std::memory_order_relaxed);
  posting_->waits.store(at + 1, std::memory_order_release);
}

void Poster::end_waits() noexcept {
  posting_->looked.store(ticks(), std::memory_order_release);
}

void Poster::note_cpu(std::uint64_t since) noexcept {
  if (posting_->looked_at_cpu.load(std::memory_order_relaxed) >= since) return;
  const int members = posting_->members.load(std::memory_order_relaxed);
  for (int i = 0; i < members; ++i) {
    Member& member = posting_->member_list()[i];
    const pid_t process = member.process.load(std::memory_order_relaxed);
    member.cpu_ns.store(cpu_ns_of(process), std::memory_order_relaxed);
  }
  posting_->looked_at_cpu.store(ticks(), std::memory_order_release);
}

void Poster::answer(std::span<const std::array<char, kWhereaboutsBytes>> answers) noexcept {
  const std::size_t count = std::min(answers.size(), kAnswers);
  try {
    if (posting_ != unseen_.get() && process_ == ::getpid() && count != 0) {
      Posting* piece = answers_of(*posting_);
      if (piece == nullptr) {
        piece = Board::here().take(aligned(sizeof(Answers)));
        posting_->answers_at.store(Board::here().offset_of(piece), std::memory_order_relaxed);
      }
      std::copy_n(answers.begin(), count, reinterpret_cast<Answers*>(piece)->texts.begin());
      posting_->answers.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    }
  } catch (const std::exception&) {
    // There are none, then.
  }
  posting_->answered.store(posting_->asked.load(std::memory_order_relaxed),
                           std::memory_order_release);
}

std::uint64_t cpu_ns_of(pid_t process) noexcept {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace weft::engine::board
