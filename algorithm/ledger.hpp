// Ledger: adds ops in the order of a program and derives from the bytes that they touch which of
// them must follow which.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "plan/builder.hpp"

namespace weft::algorithm {

/// Adds ops to the plan of one rank in the order of a program, each after the earlier ones with
/// which it shares bytes: reads after writes, writes after reads and writes. What shares nothing
/// may overlap. A strided slice counts as all bytes from its first to its last.
class Ledger {
 public:
  /// The builder must live longer.
  explicit Ledger(plan::Builder& builder) : builder_(builder) {}

  plan::Builder& builder() { return builder_; }

  void send(int peer, const plan::Slice& src);
  void recv(int peer, const plan::Slice& dst);
  void copy(const plan::Slice& dst, const plan::Slice& src);
  void reduce(const plan::Slice& dst, const plan::Slice& src, plan::Operand dst_operand);
  /// dst, contiguous, = the concatenation of the slices, and the reverse.
  void gather(const plan::Slice& dst, std::span<const plan::Slice> sources);
  void scatter(std::span<const plan::Slice> targets, const plan::Slice& src);

  /// Lets the local `peer` read `reads` and write `writes`, once this rank no longer needs them as
  /// they were.
  void signal(int peer, std::span<const plan::Slice> reads,
              std::span<const plan::Slice> writes = {});
  /// Awaits the same from the peer. This rank's later accesses to `slices` follow.
  void wait(int peer, std::span<const plan::Slice> slices);

  /// Messages added from here on start when all added so far are complete: one step at a time.
  void next_step();

 private:
  struct Access {
    std::uint64_t end;
    plan::OpId writer;
    std::vector<plan::OpId> readers;
  };
  using Accesses = std::map<std::uint64_t, Access>;  // by first byte; without overlap

  Accesses::iterator split(Accesses& accesses, std::uint64_t at);
  Accesses& accesses_of(const plan::Slice& slice) { return accesses_[{slice.space, slice.owner}]; }
  void before_read(const plan::Slice& slice, std::vector<plan::OpId>& after);
  void before_write(const plan::Slice& slice, std::vector<plan::OpId>& after);
  void note_read(const plan::Slice& slice, plan::OpId op);
  void note_write(const plan::Slice& slice, plan::OpId op);

  plan::Builder& builder_;
  std::map<std::pair<plan::Space, int>, Accesses> accesses_;
  std::vector<plan::OpId> messages_;  // since the step began
  std::vector<plan::OpId> gate_;      // of the step before
};

}  // namespace weft::algorithm
