// Board of a process: gives memory to postings, in which its ranks write down where they are.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/process_id.hpp"
#include "base/ticks.hpp"
#include "engine/board/layout.hpp"

namespace weft::engine::board {

/// One rank's posting about one communicator. Where there is no memory for it, it is in memory that
/// nobody else sees: all goes on, and the rank is not found.
///
/// begin_call() and end_call() are all that calls pay for it: five stores, and one, into one cache
/// line. The rest is written by ranks that wait already, or set something up.
class Poster {
 public:
  /// `neighbours`: ranks of its node, with their processes; its own may be among them.
  struct Neighbour {
    int rank = 0;
    ProcessId process = {};
  };
  Poster() = default;
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;
  ~Poster();

  /// Makes it visible. Once, before any call. `communicator`: the same number on all of its ranks,
  /// and on no other communicator's.
  void show(std::uint64_t communicator, int rank, int size, int node,
            std::span<const Neighbour> neighbours);

  /// The rank is in this call from now on.
  void begin_call(std::uint64_t tag, std::uint64_t began, std::uint64_t what,
                  std::uint64_t bytes) noexcept {
    Call& call = call_of(tag);
    call.tag.store(tag, std::memory_order_relaxed);
    call.began.store(began, std::memory_order_relaxed);
    call.ended.store(0, std::memory_order_relaxed);
    call.what.store(what, std::memory_order_relaxed);
    call.bytes.store(bytes, std::memory_order_relaxed);
  }
  void end_call(std::uint64_t tag, std::uint64_t ended) noexcept {
    call_of(tag).ended.store(ended, std::memory_order_relaxed);
  }

  /// The number of an algorithm's name, for pack(); 0 when there are too many.
  std::uint16_t algorithm(std::string_view name) noexcept;

  /// From now on all ranks set up a call by the bootstrap; end_setup() when that is over.
  void begin_setup(std::uint64_t what, std::uint64_t bytes) noexcept;
  void end_setup() noexcept;
  void fail() noexcept;

  /// What a rank that waits, waits for: add_wait() for each, between these two. `operation`: of a
  /// reduction, in words; else empty.
  void begin_waits(std::uint64_t tag, std::string_view operation) noexcept;
  void add_wait(WaitKind kind, std::uint64_t flags, std::uint32_t op, int peer, std::uint64_t bytes,
                std::uint64_t moved, const Link& link = {}) noexcept;
  void end_waits() noexcept;
  /// Notes what the neighbours' processes have computed so far, where that was not noted since
  /// `since`.
  void note_cpu(std::uint64_t since) noexcept;

  /// Whether another process has asked what ranks of other nodes do; answers may follow.
  bool is_asked() const noexcept {
    return posting_->asked.load(std::memory_order_relaxed) >
           posting_->answered.load(std::memory_order_relaxed);
  }
  /// What is known of them, which ends the question.
  void answer(std::span<const std::array<char, kWhereaboutsBytes>> answers) noexcept;

  std::uint64_t communicator() const noexcept {
    return posting_->communicator.load(std::memory_order_relaxed);
  }

 private:
  Call& call_of(std::uint64_t tag) noexcept { return posting_->calls[(tag >> 32) % kCalls]; }

  std::unique_ptr<Posting> unseen_ = std::make_unique<Posting>();
  Posting* posting_ = unseen_.get();
  pid_t process_ = 0;
};

/// CPU time that a process has used; 0 where it is gone.
std::uint64_t cpu_ns_of(pid_t process) noexcept;

}  // namespace weft::engine::board
