// NodeControl: shared memory by which the ranks of one node coordinate in a communicator. Signals,
// inline messages, doorbells, counts of executions, addresses of buffers, and aborts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cast.hpp"
#include "base/process_handle.hpp"
#include "engine/node/call_tag.hpp"
#include "engine/node/doorbell.hpp"
#include "engine/node/helper_copy.hpp"
#include "engine/node/shared_memory.hpp"
#include "engine/program/inline_messages.hpp"
#include "engine/views/peer_memory.hpp"

namespace weft::engine {

/// One rank's access to the control blocks of all ranks of its node: its own, and those of the
/// others, mapped. Made in two steps, as each rank needs the others' handles: construct, exchange
/// handle(), attach().
///
/// A place is a rank's position among the ranks of its node. Each word is written by one rank and
/// read by others, helper copies apart; counters only grow, so nothing is ever reset.
class NodeControl {
 public:
  struct Options {
    /// The ranks of this host outnumber its cores, so that waiting ranks must give their cores
    /// away.
    bool crowded = false;
    /// That is so for some rank. Alike on all, as is the next.
    bool any_crowded = false;
    /// There are few communicators like this one, so it may have long rings where ranks share
    /// cores.
    bool long_rings = false;
  };
  /// `ranks[p]` is the rank at place p.
  NodeControl(int place, std::span<const int> ranks, Options options);

  std::string handle() const { return PeerHeap::handle() + memory_.handle(); }
  /// `handles[p]` is the one of place p; its own is ignored.
  void attach(std::span<const std::string> handles);

  int place() const noexcept { return place_; }
  int places() const noexcept { return places_; }
  int rank_at(int place) const noexcept { return ranks_[place]; }
  bool crowded() const noexcept { return options_.crowded; }
  bool any_crowded() const noexcept { return options_.any_crowded; }
  bool has_long_rings() const noexcept { return options_.any_crowded && options_.long_rings; }
  const ProcessId& process_of(int place) const noexcept { return page(place).views.process; }
  /// Whether the process of the rank at `place` has ended, as far as the system tells.
  bool has_ended(int place) noexcept;
  /// Its number, for cma. 0 where it has ended, which the kernel refuses: its number may be another
  /// process's by now.
  pid_t living_process(int place) noexcept {
    return has_ended(place) ? 0 : process_of(place).number;
  }

  /// The other ranks' buffers, as far as this process reaches them.
  PeerMemory& peers() noexcept { return peers_; }
  const PeerMemory& peers() const noexcept { return peers_; }

  /// The last way to the buffers of `place`, when the kernel refuses cma: its owner copies `ours` =
  /// `theirs`, or the reverse, and this rank waits for it as the function set here does. False when
  /// the owner does not answer.
  using CopyByOwner = std::function<bool(int place, const verbs::Layout& ours,
                                         const verbs::Layout& theirs, bool writes)>;
  void set_copy_by_owner(CopyByOwner copy) { copy_by_owner_ = std::move(copy); }
  bool copy_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                     bool writes) const {
    return copy_by_owner_ && copy_by_owner_(place, ours, theirs, writes);
  }
  /// The helper copy that the rank at `place` does for others.
  HelperCopy& helper_copy(int place) const noexcept { return page(place).helper_copy; }

  /// Sends one more signal to `place`, with the digest of the call of this execution. What this
  /// rank wrote before is visible there with it.
  void signal(int place, std::uint64_t execution, std::uint32_t digest) noexcept {
    Slot& slot = this->slot(place, place_);
    slot.digest(execution & digest_mask_).store(digest, std::memory_order_relaxed);
    std::atomic<std::uint64_t>& counter = slot.count;
    const std::uint64_t count = ++sent_[place];
    if (!options_.crowded) {
      counter.store(count, std::memory_order_release);
      return;
    }
    counter.store(count, std::memory_order_seq_cst);
    page(place).doorbell.ring(place_);
  }
  /// Number of signals that have come from `place`.
  std::uint64_t signals_from(int place) const noexcept {
    return slot(place_, place).count.load(std::memory_order_acquire);
  }
  /// The digest that came with the signals from `place` in an execution that this rank has not
  /// completed, once one has come.
  std::uint32_t digest_from(int place, std::uint64_t execution) const noexcept {
    return slot(place_, place).digest(execution & digest_mask_).load(std::memory_order_relaxed);
  }

  /// Sends a signal that carries bytes: inline message number `sequence` to `place`, from 1. It
  /// stays there until those of ahead() more executions are sent.
  void send_inline(int place, std::uint64_t sequence, std::uint32_t digest,
                   const verbs::Layout& bytes) noexcept;
  /// The same in two steps: the bytes are to be written right before `end`, and then sent.
  struct Outgoing {
    std::byte* end;
    std::atomic<std::uint64_t>& header;
  };
  Outgoing message_to(int place, std::uint64_t sequence) const noexcept {
    InlineSlot& slot = outgoing_[place][sequence & inline_mask_];
    return {slot.bytes.data() + kInlineBytes, slot.header};
  }
  void send(int place, const Outgoing& message, std::uint64_t header) noexcept {
    if (!options_.crowded) {
      message.header.store(header, std::memory_order_release);
      return;
    }
    message.header.store(header, std::memory_order_seq_cst);
    page(place).doorbell.ring(place_);
  }
  /// A word that is header(sequence, digest) once the message has come. The upper half may be
  /// another digest then.
  std::uint64_t inline_header(int place, std::uint64_t sequence) const noexcept {
    return incoming_[place][sequence & inline_mask_].header.load(std::memory_order_acquire);
  }
  static std::uint64_t header(std::uint64_t sequence, std::uint32_t digest) noexcept {
    return std::uint64_t{digest} << 32 | static_cast<std::uint32_t>(sequence);
  }
  /// Where that message from `place` lies. Its bytes end kInlineBytes behind this.
  std::byte* inline_bytes(int place, std::uint64_t sequence) const noexcept {
    return incoming_[place][sequence & inline_mask_].bytes.data();
  }

  /// How many executions a rank may be ahead of what others have completed, as far as inline
  /// messages need it. A power of two; many where there are few ranks, as a rank that only sends
  /// learns only from time to time that there is room again. More where ranks share cores, as each
  /// time that there is no room costs turns of the cores, and are so few that the rings of a rank
  /// are no larger than those of eight ranks, or may be long.
  std::uint64_t ahead() const noexcept { return ahead_; }

  Doorbell& doorbell(int place) noexcept { return page(place).doorbell; }

  /// Publishes that this rank has entered an execution, its call, and its buffers, for peers that
  /// read and write them in place. It has completed the execution before the last. `arrived`: when
  /// this rank came to the call, in units of the caller's choice that all ranks of the node share.
  void enter(std::uint64_t execution, CallTag call, const void* input, void* output,
             std::uint32_t arrived = 0) noexcept {
    Buffers& mine = page(place_).buffers[execution & 1];
    page(place_).arrived[execution & 1].store(arrived, std::memory_order_relaxed);
    mine.input = reinterpret_cast<std::uint64_t>(input);
    mine.output = reinterpret_cast<std::uint64_t>(output);
    mine.call.store(call.word(), std::memory_order_relaxed);
    page(place_).entered.store(execution, std::memory_order_release);
    peers_.tell_hidden();
  }
  /// The call of which `execution` is, on the rank at `place`; a later one where it is beyond that.
  CallTag call_of(int place, std::uint64_t execution) const noexcept {
    return CallTag::of(page(place).buffers[execution & 1].call.load(std::memory_order_relaxed));
  }

  std::uint64_t input_of(int place, std::uint64_t execution) const noexcept {
    return page(place).buffers[execution & 1].input;
  }
  std::uint64_t output_of(int place, std::uint64_t execution) const noexcept {
    return page(place).buffers[execution & 1].output;
  }

  /// The last execution that `place` has entered.
  std::uint64_t entered_by(int place) const noexcept {
    return page(place).entered.load(std::memory_order_acquire);
  }
  /// How long after `arrived`, of this rank, the last of the others came to the call of
  /// `execution`, of those that came no more than `within` later. Right after this rank's part of
  /// it.
  std::uint32_t last_arrival(std::uint64_t execution, std::uint32_t arrived,
                             std::uint32_t within) const noexcept;
  /// Number of executions that `place` has completed.
  std::uint64_t completed_by(int place) const noexcept {
    return page(place).completed.load(std::memory_order_acquire);
  }
  void complete(std::uint64_t execution) noexcept {
    page(place_).completed.store(
        execution, options_.crowded ? std::memory_order_seq_cst : std::memory_order_release);
  }

  /// Tells the others that this rank has failed, with the reason; the first call counts.
  void abort(const char* text) noexcept;
  /// True for the first of the node's ranks that asks: it says for all why they stand still.
  bool claim_report() noexcept {
    return page(0).is_reported.exchange(1, std::memory_order_relaxed) == 0;
  }
  /// The reason that `place` gave; null when it has not failed.
  const char* abort_of(int place) const noexcept;
  /// The place of a process that has ended before it completed `execution`, or -1.
  int find_dead(std::uint64_t execution) noexcept;

 private:
  /// Signals from one rank: their number, and behind it the digests of the last ahead() executions
  /// that sent some, as many as may lie here: see EntryRule::may_enter().
  struct Slot {
    std::atomic<std::uint64_t> count{0};

    std::atomic<std::uint32_t>& digest(std::uint64_t number) noexcept {
      return reinterpret_cast<std::atomic<std::uint32_t>*>(this + 1)[number];
    }
  };
  std::uint64_t find_ahead() const noexcept;
  /// Of a slot: whole cache lines.
  std::size_t slot_bytes() const noexcept {
    return round_up(sizeof(Slot) + ahead() * sizeof(std::atomic<std::uint32_t>), 64);
  }
  std::uint64_t inline_slots() const noexcept { return ahead() * kInlinePerExecution; }
  /// A few bytes lie right before the header, in its cache line.
  struct InlineSlot {
    alignas(64) std::array<std::byte, kInlineBytes> bytes{};
    std::atomic<std::uint64_t> header{0};
  };
  struct Buffers {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
    std::atomic<std::uint64_t> call{0};
  };
  struct Page {
    Doorbell doorbell;
    alignas(64) std::atomic<std::uint64_t> completed{0};
    alignas(64) std::atomic<std::uint64_t> entered{0};
    std::array<Buffers, 2> buffers;  // of executions of even and of odd number; in the same line
    std::array<std::atomic<std::uint32_t>, 2> arrived;  // likewise
    PeerMemory::Published views;
    alignas(64) std::atomic<std::uint32_t> aborted{0};
    std::atomic<std::uint32_t> is_reported{0};
    std::array<char, 248> abort_text;  // zero, as all of the memory
    HelperCopy helper_copy;
  };

  Page& page(int place) const noexcept { return *reinterpret_cast<Page*>(bases_[place]); }
  /// In the memory of the rank at `owner`, the slot of signals from the rank at `from`.
  Slot& slot(int owner, int from) const noexcept {
    std::byte* const first = bases_[owner] + sizeof(Page);
    return *reinterpret_cast<Slot*>(first + static_cast<std::size_t>(from) * slot_bytes_);
  }

  /// In the memory of the rank at `owner`, the first slot of messages from the rank at `from`.
  InlineSlot* first_inline_slot(int owner, int from) const noexcept {
    auto* first = reinterpret_cast<InlineSlot*>(&slot(owner, places_));
    return first + static_cast<std::uint64_t>(from) * inline_slots();
  }

  int place_;
  int places_;
  std::vector<int> ranks_;  // by place
  Options options_;
  std::uint64_t ahead_;
  SharedMemory memory_;
  std::vector<SharedMemory> attached_;  // by place; empty for its own
  std::vector<std::byte*> bases_;       // by place
  std::size_t slot_bytes_;
  std::uint64_t digest_mask_;
  std::uint64_t inline_mask_;          // slots are a power of two
  std::vector<InlineSlot*> incoming_;  // by place: the first slot of messages from there
  std::vector<InlineSlot*> outgoing_;  // likewise, of messages to there
  PeerMemory peers_;
  CopyByOwner copy_by_owner_;
  std::vector<std::uint64_t> sent_;                                    // signals, by place
  std::vector<std::shared_ptr<const ProcessHandle>> process_handles_;  // by place; when first asked
};

}  // namespace weft::engine
