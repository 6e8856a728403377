// What the ranks of one node share in a communicator: signals, doorbells, stages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "engine/memory/attachments.hpp"
#include "engine/memory/heap.hpp"
#include "engine/memory/peer_heap.hpp"
#include "engine/memory/segment.hpp"
#include "engine/memory/view.hpp"
#include "engine/node/errand.hpp"
#include "engine/node/letters.hpp"
#include "engine/node/waiting.hpp"

namespace weft::engine {

/// One rank's half of the memory by which a node's ranks find each other. Made in two steps, as
/// each needs the others' handles: construct, exchange handle(), attach().
///
/// A place is a rank's position among the ranks of its node. Everything here is written by one rank
/// and read by others; counters only grow, so nothing is ever reset.
class Node {
 public:
  /// `ranks[p]` is the rank at place p. `crowded`: the ranks of this host outnumber its cores, so
  /// waiting must not burn them.
  Node(int place, std::span<const int> ranks, bool crowded);

  std::string handle() const { return PeerHeap::handle() + segment_.handle(); }
  /// `handles[p]` is the one of place p; its own is ignored.
  void attach(std::span<const std::string> handles);
  /// Finds out how this rank can read the others' buffers: after all have attached. The node's view
  /// is the worst of what its ranks found; set_view() tells it.
  View probe_view();
  void set_view(View view) noexcept { view_ = view; }
  View view() const noexcept { return view_; }

  /// Whether this rank sees the shared heaps of all others in other processes; else why not.
  bool sees_heaps() const noexcept;
  const std::string& why_no_heaps() const noexcept { return why_no_heaps_; }
  /// Why this process has no part in xpmem, where that may be used; else empty.
  const std::string& why_no_xpmem() const noexcept { return why_no_xpmem_; }

  /// What `place` has at `layout`, for loads and stores of this process. `by` says what to keep to:
  /// what is found by xpmem is used within attachments().reach().
  struct Found {
    std::byte* memory = nullptr;  // null: only by cma or through its owner
    View by = View::cma;
  };
  Found find(int place, const verbs::Layout& layout) noexcept;
  Attachments& attachments() noexcept { return attachments_; }

  /// The last way to what `place` has, when the kernel refuses: `ours` = `theirs` by the hands of
  /// its owner, or the reverse. False when the owner does not come to it. Who waits says how.
  using ByOwner = std::function<bool(int place, const verbs::Layout& ours,
                                     const verbs::Layout& theirs, bool writes)>;
  void set_by_owner(ByOwner by_owner) { by_owner_ = std::move(by_owner); }
  bool move_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                     bool writes) const {
    return by_owner_ && by_owner_(place, ours, theirs, writes);
  }

  /// Of the rank at `place`.
  Errand& errand(int place) const noexcept { return page(place).errand; }

  /// Bytes of others that this rank has copied or reduced where they lie, by shared_heap,
  /// xpmem or cma, and that their owners have copied for it (staged).
  std::uint64_t moved_bytes(View view) const noexcept { return moved_[index_of(view)]; }
  void count_moved(View view, std::uint64_t bytes) noexcept { moved_[index_of(view)] += bytes; }

  int place() const noexcept { return place_; }
  int places() const noexcept { return places_; }
  int rank_at(int place) const noexcept { return ranks_[place]; }
  bool crowded() const noexcept { return crowded_; }

  /// Tells `place` once more. What this rank wrote before is visible to it then.
  void signal(int place) noexcept {
    std::atomic<std::uint64_t>& counter = slots(place)[place_].count;
    const std::uint64_t count = ++sent_[place];
    if (!crowded_) {
      counter.store(count, std::memory_order_release);
      return;
    }
    counter.store(count, std::memory_order_seq_cst);
    page(place).doorbell.ring(place_);
  }
  /// Signals that have come from `place` so far.
  std::uint64_t signals_from(int place) const noexcept {
    return slots(place_)[place].count.load(std::memory_order_acquire);
  }

  /// The same with bytes: the `sequence`-th letter to `place`, from 1. It lies there until those of
  /// ahead() more executions are sent.
  void send_letter(int place, std::uint64_t sequence, const verbs::Layout& bytes) noexcept;
  bool has_letter(int place, std::uint64_t sequence) const noexcept {
    return letter_of(place_, place, sequence).sequence.load(std::memory_order_acquire) >= sequence;
  }
  /// Where letters from `place` lie; their bytes end at kLetterBytes.
  std::byte* letter(int place, std::uint64_t sequence) const noexcept {
    return letter_of(place_, place, sequence).bytes.data();
  }

  /// How many executions a rank may be ahead of what others have completed as far as letters go: of
  /// few ranks many, as who only sends learns from time to time that there is room.
  std::uint64_t ahead() const noexcept { return places_ <= kFewPlaces ? 8 : 2; }

  Doorbell& doorbell(int place) noexcept { return page(place).doorbell; }

  /// This rank has come to an execution, with these buffers, for peers that read them where they
  /// lie. It has completed the one before the last.
  void enter(std::uint64_t execution, const void* input, void* output) noexcept {
    page(place_).entered.store(execution, std::memory_order_relaxed);
    Buffers& mine = page(place_).buffers[execution & 1];
    mine.input = reinterpret_cast<std::uint64_t>(input);
    mine.output = reinterpret_cast<std::uint64_t>(output);
    if (heap::overlaid.load(std::memory_order_relaxed)) {
      page(place_).heap_overlaid.store(1, std::memory_order_relaxed);
    }
  }
  std::uint64_t input_of(int place, std::uint64_t execution) const noexcept {
    return page(place).buffers[execution & 1].input;
  }
  std::uint64_t output_of(int place, std::uint64_t execution) const noexcept {
    return page(place).buffers[execution & 1].output;
  }
  pid_t process_of(int place) const noexcept { return page(place).process; }

  /// The execution that `place` has come to.
  std::uint64_t entered_by(int place) const noexcept {
    return page(place).entered.load(std::memory_order_relaxed);
  }
  /// Executions that `place` has completed.
  std::uint64_t completed_by(int place) const noexcept {
    return page(place).completed.load(std::memory_order_acquire);
  }
  void complete(std::uint64_t execution) noexcept {
    page(place_).completed.store(execution,
                                 crowded_ ? std::memory_order_seq_cst : std::memory_order_release);
  }

  /// This rank gives up: the others of the node find `text` when they look.
  void abort(const char* text) noexcept;
  /// What `place` said when it gave up; null when it has not.
  const char* abort_of(int place) const noexcept;
  /// The place of a process that has ended before it completed `execution`, or -1.
  int find_dead(std::uint64_t execution) noexcept;

 private:
  void attach_heap(int place, std::string_view handle);
  View probe_view(int place);
  bool probe_xpmem(int place);

  struct Slot {
    alignas(64) std::atomic<std::uint64_t> count{0};
  };
  static constexpr int kFewPlaces = 16;
  std::uint64_t letters() const noexcept { return ahead() * kLettersPerExecution; }
  /// Few bytes lie right before the sequence number, in its cache line.
  struct Letter {
    alignas(64) std::array<std::byte, kLetterBytes> bytes{};
    std::atomic<std::uint64_t> sequence{0};
  };
  struct Buffers {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
  };
  struct Page {
    Doorbell doorbell;
    alignas(64) std::atomic<std::uint64_t> completed{0};
    alignas(64) std::atomic<std::uint64_t> entered{0};
    std::array<Buffers, 2> buffers;  // of executions of even and of odd number
    std::atomic<std::uint32_t> heap_overlaid{0};
    pid_t process = 0;
    std::uint64_t probe = 0;  // a word to be read by probe_view(), and where it is
    std::uint64_t probe_address = 0;
    std::int64_t xpmem_segment = 0;  // 0: none
    alignas(64) std::atomic<std::uint32_t> aborted{0};
    std::array<char, 252> abort_text{};
    Errand errand;
  };

  Page& page(int place) const noexcept { return *reinterpret_cast<Page*>(bases_[place]); }
  Slot* slots(int place) const noexcept {
    return reinterpret_cast<Slot*>(bases_[place] + sizeof(Page));
  }

  /// Of those in the memory of the rank at `owner`, one from the rank at `from`.
  Letter& letter_of(int owner, int from, std::uint64_t sequence) const noexcept {
    auto* first = reinterpret_cast<Letter*>(slots(owner) + places_);
    // A power of two.
    return first[static_cast<std::uint64_t>(from) * letters() + (sequence & (letters() - 1))];
  }

  int place_;
  int places_;
  std::vector<int> ranks_;  // by place
  bool crowded_;
  View view_ = View::staged;
  std::vector<View> tried_;  // by place: what probe_view() found
  Segment segment_;
  std::vector<Segment> attached_;  // by place; empty for its own
  std::vector<std::byte*> bases_;  // by place
  std::vector<PeerHeap> heaps_;    // by place; empty where there is none
  std::string why_no_heaps_;
  ByOwner by_owner_;
  Attachments attachments_;
  std::string why_no_xpmem_;
  std::array<std::uint64_t, kViews> moved_ = {};  // by view
  std::vector<std::uint64_t> sent_;               // signals, by place
  std::vector<File> process_handles_;             // by place; opened when first asked
};

}  // namespace weft::engine
