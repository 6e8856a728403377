// Plan: the work of one rank in one collective, as a DAG of ops over slices of memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "plan/slice.hpp"

namespace weft::plan {

enum class OpKind : std::uint8_t {
  send,    ///< Sends `src` to `peer`. Complete when src may be written again.
  recv,    ///< Receives into `dst` from `peer`. Complete when the bytes are there.
  copy,    ///< dst = src, byte by byte in the order of the slices. Equal sizes, no overlap.
  reduce,  ///< dst = dst op src, or src op dst as `order` says. Equal sizes, no overlap.
  signal,  ///< Tells local `peer` that all ops that this one follows are complete. Never blocks.
  wait,    ///< Complete when the matching signal of local `peer` has come.
};

std::string_view to_string(OpKind kind);

/// send for recv, signal for wait, and the reverse; a copy or reduce is its own counterpart.
OpKind counterpart(OpKind kind);

/// The side of the destination among the operands, for operations that do not commute.
enum class Operand : std::uint8_t { left, right };

struct Op {
  OpKind kind = OpKind::copy;
  Operand dst_operand = Operand::left;  // reduce only
  int peer = -1;                        // send, recv, signal, wait
  Slice dst;                            // recv, copy, reduce
  Slice src;                            // send, copy, reduce

  bool operator==(const Op&) const = default;
};

using OpId = std::uint32_t;
/// "No op": ignored as a dependency, so that callers need no special case for steps without bytes.
inline constexpr OpId kNoOp = UINT32_MAX;

/// The ops of one rank, and the bytes of memory that they need. A value; immutable once built (by
/// Builder, parse(), Family or LayoutFamily).
///
/// Meaning:
/// - An op starts when all ops in its `after` list are complete. Lists name earlier ops only.
/// - Towards one peer, sends start in list order, and so do recvs, signals and waits. The k-th send
///   to a peer matches the k-th recv there, the k-th signal the k-th wait. Matching sends and recvs
///   have equal sizes. Nothing else orders ops; those with no path between them may overlap.
/// - An op touches spaces of its own rank, and stage, input and output of ranks on the same node.
/// - At entry the contents of stage and scratch are undefined. A later execution does not use a
///   stage before every rank of the node has completed this one. The caller may use its buffers as
///   soon as its own rank has completed, so peers must have finished with them by then.
class Plan {
 public:
  Plan() = default;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::span<const Op> ops() const { return ops_; }
  /// The ops that op `id` must follow, ascending, each below `id`.
  std::span<const OpId> after(OpId id) const {
    return std::span(after_).subspan(after_begin_[id], after_begin_[id + 1] - after_begin_[id]);
  }

  /// Bytes that an execution needs of this rank's own spaces.
  std::uint64_t input_bytes() const { return input_bytes_; }
  std::uint64_t output_bytes() const { return output_bytes_; }
  std::uint64_t stage_bytes() const { return stage_bytes_; }
  std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  std::uint64_t space_bytes(Space space) const;

  bool operator==(const Plan&) const = default;

 private:
  friend class Builder;
  friend class Family;
  friend class LayoutFamily;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  std::uint64_t stage_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> after_begin_ = {0};
  std::vector<OpId> after_;
};

}  // namespace weft::plan
