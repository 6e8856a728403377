// Program: a plan made ready to run on one rank. Operands become offsets to numbered addresses,
// dependencies become counters, and folds and inline messages are worked in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/program/folds.hpp"
#include "engine/program/inline_messages.hpp"
#include "plan/plan.hpp"

namespace weft::engine {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// One side of a step: bytes at `offset` from base number `base`. Bases are numbered: 0 own input,
/// 1 own output, 2 own scratch, then, for each place of the node, its stage, the inline messages
/// from it, its input and its output.
struct Operand {
  std::uint32_t base = 0;
  std::uint64_t offset = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;

  std::uint64_t bytes() const noexcept { return block_bytes * count; }
};

struct Step {
  plan::OpKind kind = plan::OpKind::copy;
  plan::Operand dst_operand = plan::Operand::left;
  /// signal, wait: a place on this node. send, recv: index into Program::peers().
  std::uint32_t peer = 0;
  /// wait: how many signals of the peer must have come in this execution. send, recv: its transfer.
  /// signal and wait, with `is_inline`: the number of the inline message in this execution, from 1.
  std::uint32_t ordinal = 0;
  bool is_inline = false;      // signal: carries `src`; wait: for such a signal
  bool small = false;          // copy: of few bytes without gaps, between memory of this process
  bool deferred = false;       // does nothing: left to the last step of its fold, or dropped,
                               // or without bytes
  std::uint32_t fold = kNone;  // on the last step of a fold: its number
  std::uint32_t first_successor = 0;
  std::uint32_t end_successor = 0;
  /// The step that may start once this one has started: the next one of its kind to its peer, as
  /// the plan's list order is the order in which both ends match. kNone: no such step, or it
  /// depends on this one anyway.
  std::uint32_t next = kNone;
  Operand dst;
  Operand src;
};

/// Numbers of signals between this rank and another of its node.
struct Counts {
  std::uint64_t waits = 0;       // for signals without bytes from the other
  std::uint64_t inline_in = 0;   // inline messages from the other
  std::uint64_t inline_out = 0;  // inline messages to the other

  void add(const Counts& more) noexcept {
    waits += more.waits;
    inline_in += more.inline_in;
    inline_out += more.inline_out;
  }
};

struct IncomingInline {
  std::uint32_t base = 0;
  int place = 0;              // of the sender
  std::uint32_t ordinal = 0;  // number among those from there in one execution, from 1
};

/// Everything about a plan that does not change between executions. Between them, its numbers may
/// be written anew for another size (SizedProgram), other sizes of blocks (LayoutProgram) or other
/// places; all the rest is immutable.
class Program {
 public:
  Program() = default;
  /// `place_of_rank[r]` is the place of rank r on this rank's node, -1 for ranks elsewhere;
  /// `places` how many there are. UsageError when the plan touches what is not on the node.
  Program(const plan::Plan& plan, std::span<const int> place_of_rank, int places,
          std::span<const InlineOp> inline_ops = {});
  /// The same with folds that were found already.
  Program(const plan::Plan& plan, std::span<const int> place_of_rank, int places,
          std::span<const InlineOp> inline_ops, std::vector<Fold> folds);

  std::span<const Step> steps() const { return steps_; }
  /// By step: the number of steps that it must wait for, which an execution counts down.
  std::span<const std::uint32_t> pending() const { return pending_; }
  std::span<const std::uint32_t> initial() const { return initial_; }
  std::span<const std::uint32_t> successors(const Step& step) const {
    return std::span(successors_)
        .subspan(step.first_successor, step.end_successor - step.first_successor);
  }

  /// Ranks that this plan sends to or receives from, ascending.
  std::span<const int> peers() const { return peers_; }
  std::uint32_t transfers() const { return transfers_; }
  /// The first and the last of the sends to, or recvs from, a peer, or signals to a place; kNone:
  /// there are none. List order is the order in which they start.
  struct Ends {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  std::span<const Ends> send_ends() const { return send_ends_; }      // by index in peers()
  std::span<const Ends> recv_ends() const { return recv_ends_; }      // likewise
  std::span<const Ends> signal_ends() const { return signal_ends_; }  // by place
  bool reduces() const { return reduces_; }
  /// The steps of a fold, by Step::fold.
  std::span<const std::uint32_t> fold(std::uint32_t number) const { return folds_[number]; }
  /// The most vectors that a fold reads.
  std::size_t fold_sources() const;
  /// Between this rank and each place, in one execution.
  std::span<const Counts> counts() const { return counts_; }
  /// Inline messages that come to this rank.
  std::span<const IncomingInline> incoming() const { return incoming_; }
  /// The places whose stages it touches.
  std::span<const int> stages() const { return stages_; }
  bool signals() const { return signals_; }
  /// True when, by the end of an execution, a signal or a message has come from every other rank of
  /// the node, so that each has begun it.
  bool hears_all_places() const { return hears_all_; }
  bool uses_stage() const { return !stages_.empty(); }
  bool uses_peer_buffers() const { return uses_peer_buffers_; }

  /// A side of a copy, send or recv in the caller's own buffers, without gaps, gets another place.
  /// Not for copies that are a part of folds.
  void move(std::uint32_t step, bool is_source, std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// A send or recv becomes no part of executions, as it has no bytes, or is one again. The other
  /// end does the same, and hears_all_places() is to be set to what is left.
  void leave_out(std::uint32_t step, bool is_left_out) noexcept {
    steps_[step].deferred = is_left_out;
  }
  void set_hears_all_places(bool hears_all) noexcept { hears_all_ = hears_all; }
  void set_buffer_bytes(std::uint64_t input, std::uint64_t output) noexcept {
    input_bytes_ = input;
    output_bytes_ = output;
  }
  std::uint64_t input_bytes() const { return input_bytes_; }
  std::uint64_t output_bytes() const { return output_bytes_; }
  std::uint64_t stage_bytes() const { return stage_bytes_; }
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  int places() const { return places_; }

  // Numbers of bases.
  std::uint32_t stage_base(int place) const { return static_cast<std::uint32_t>(3 + place); }
  /// `ordinal` from 1 to kInlinePerExecution.
  std::uint32_t inline_base(int place, std::uint32_t ordinal) const {
    return static_cast<std::uint32_t>(3 + places_ + place) +
           (ordinal - 1) * static_cast<std::uint32_t>(places_);
  }
  std::uint32_t input_base(int place) const {
    return inline_base(place, kInlinePerExecution) + static_cast<std::uint32_t>(places_);
  }
  std::uint32_t output_base(int place) const {
    return input_base(place) + static_cast<std::uint32_t>(places_);
  }
  std::uint32_t bases() const { return output_base(places_); }

 private:
  friend class SizedProgram;
  friend class LayoutProgram;

  /// The base of the rank's own memory, or of the stage of the rank at `place`.
  std::uint32_t base_of_own(plan::Space space, int place) const;
  Operand resolve(const plan::Plan& plan, const plan::Slice& slice,
                  std::span<const int> place_of_rank);
  void apply_inline_messages(std::span<const InlineOp> inline_ops,
                             std::span<const int> place_of_rank, int rank);
  /// Of few bytes, if it is_small(), which alone depends on their number.
  bool may_be_small(const Step& step) const;
  static bool is_small(const Step& step) noexcept;
  void note_stages();
  void apply_folds();
  void add_successors(const plan::Plan& plan);
  void keep_list_order(const plan::Plan& plan);

  std::vector<Step> steps_;
  std::vector<std::uint32_t> pending_;
  std::vector<std::uint32_t> initial_;
  std::vector<std::uint32_t> successors_;
  std::vector<Fold> folds_;
  std::vector<int> peers_;
  std::vector<Counts> counts_;
  std::vector<IncomingInline> incoming_;
  std::vector<int> stages_;
  std::vector<Ends> send_ends_;
  std::vector<Ends> recv_ends_;
  std::vector<Ends> signal_ends_;
  bool reduces_ = false;
  bool signals_ = false;
  std::uint32_t transfers_ = 0;
  int places_ = 1;
  bool hears_all_ = false;
  bool uses_peer_buffers_ = false;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  std::uint64_t stage_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
};

}  // namespace weft::engine
