// Layout of a board: what lies in the shared memory in which the ranks of a process write down
// where they are.
//
// A *board* is a memory file of one process. Other processes of the same user find it among its
// descriptors, by the file's name, and read it with pread(): also while the process is stopped, and
// without its help. It goes with the process. After a header there are *postings*, one for each
// communicator of each rank of the process, each with a size in its first words.
//
// Each word is written by the rank alone (or the thread that has its turn), relaxed: a reader may
// see a posting in the middle of a change, so it reads until two looks agree, and believes nothing
// that it has not checked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::engine::board {

/// How the file's name begins in /proc/PID/fd.
inline constexpr const char* kLabel = "weft-board";
inline constexpr std::uint64_t kMagic = 0x34647261'6f627477;  // "wtboard4"
inline constexpr std::uint64_t kPostingMagic = 0x3174736f'70627477;

inline constexpr std::size_t kCalls = 8;
inline constexpr std::size_t kWaits = 6;
inline constexpr std::size_t kNames = 16;
inline constexpr std::size_t kNameBytes = 32;
inline constexpr std::size_t kAlignment = 64;

struct alignas(kAlignment) Header {
  std::uint64_t magic = kMagic;
  std::int32_t process = 0;
  std::uint32_t posting_bytes = 0;  // of a posting without its members: tells other builds
  std::uint64_t ticks = 0;          // the counter and CLOCK_MONOTONIC at the same time
  std::int64_t monotonic_ns = 0;
};

using Word = std::atomic<std::uint64_t>;

/// One call. In one cache line, as every call writes one.
struct alignas(kAlignment) Call {
  Word tag{0};    // CallTag::word(): number and digest; 0: none
  Word began{0};  // ticks
  Word ended{0};  // ticks; 0: it has not
  Word what{0};   // see pack()
  Word bytes{0};  // of a block, or of a vector
};

/// Collective, root and the number of the algorithm's name in a word.
constexpr std::uint64_t pack(std::uint8_t collective, std::uint16_t algorithm, int root) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(root)} << 32 | std::uint64_t{algorithm} << 16 |
         collective;
}

enum class WaitKind : std::uint8_t { signal, send, recv, entry };

/// What a rank sees of the way to the one that it waits for.
struct Link {
  std::uint8_t slots = 0;        // of the peer's ring: written, and not known to be read
  std::uint8_t queue_pairs = 0;  // of the connection; 0: shared memory
  std::uint8_t ready = 0;        // of these: may send
  std::uint16_t requests = 0;    // posted on them and not known to be complete, the most that fits
  std::uint32_t reconnections = 0;  // how many times it was made anew, modulo 2^24

  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{reconnections} << 40 | std::uint64_t{requests} << 24 |
           std::uint64_t{ready} << 16 | std::uint64_t{queue_pairs} << 8 | slots;
  }
  static constexpr Link of(std::uint64_t word) noexcept {
    return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint8_t>(word >> 16), static_cast<std::uint16_t>(word >> 24),
            static_cast<std::uint32_t>(word >> 40)};
  }
  bool operator==(const Link&) const = default;
};

/// One op of a plan that waits for another rank.
struct Wait {
  Word what{0};   // kind | flags << 8 | op << 32
  Word peer{0};   // rank
  Word bytes{0};  // of the message; 0: a signal without any
  Word moved{0};  // of these
  Word link{0};   // Link::word(), of a message
};
inline constexpr std::uint64_t kOverDevice = 1 << 8;
inline constexpr std::uint64_t kBroken = 1 << 9;  // its connection is being made anew

/// What a rank is in, besides the calls.
enum class Phase : std::uint8_t {
  calls,       ///< in its calls, or outside of weft
  setting_up,  ///< ranks agree on a new plan, or on what they call, by the bootstrap
  failed,      ///< the communicator has failed
};

/// Where a rank of another node is: an answer that this rank has got (whereabouts.hpp).
inline constexpr std::size_t kWhereaboutsBytes = 56;
inline constexpr std::size_t kAnswers = 64;

/// A piece of the file without a posting's magic. There once somebody has asked.
struct alignas(kAlignment) Answers {
  Word magic{0}, total_bytes{0};
  std::array<std::array<char, kWhereaboutsBytes>, kAnswers> texts;
};

/// A rank's neighbour on its node.
struct Member {
  std::atomic<std::int32_t> rank{-1};
  std::atomic<std::int32_t> process{0};
  Word start{0}, clock{0};  // see ProcessId
  Word cpu_ns{0};  // that its process had used when this rank had waited a while; 0: not looked
};

struct alignas(kAlignment) Posting {
  Word magic{0};        // 0: free memory
  Word total_bytes{0};  // with what follows; set once
  Word communicator{0};
  std::atomic<std::int32_t> rank{0}, size{0}, node{0}, members{0};

  alignas(kAlignment) std::atomic<std::uint32_t> phase{0};
  std::atomic<std::uint32_t> waits{0};  // how many, of the call `waiting_tag`
  Word phase_since{0};                  // ticks
  Word setup_what{0}, setup_bytes{0};   // of what is set up
  Word waiting_tag{0};
  Word looked{0};         // ticks
  Word looked_at_cpu{0};  // ticks: see Member::cpu_ns

  std::array<Call, kCalls> calls;  // by number of the call, modulo
  std::array<Wait, kWaits> waiting;
  Word asked{0};                           // ticks: by another process, which wants answers
  Word answered{0};                        // ticks: the question that `answers` are for
  Word answers_at{0};                      // where in the file they lie: Answers
  std::atomic<std::uint32_t> answers{0};   // how many
  std::array<char, kNameBytes> operation;  // of the reduction in which it waits
  std::array<std::array<char, kNameBytes>, kNames> names;  // of algorithms; the first is empty
  // Followed by its members.

  Member* member_list() noexcept { return reinterpret_cast<Member*>(this + 1); }
};

}  // namespace weft::engine::board
