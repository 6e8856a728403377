// Symbolic run: executes the ops of a set of plans on symbolic memory.
#pragma once

#include <vector>

#include "plan/verify/checks.hpp"
#include "plan/verify/symbolic.hpp"

namespace weft::plan {

/// Runs in one order; without races all orders give the same.
class SymbolicRun {
 public:
  /// `steps`, where it is not null, gets the expressions of the pieces of every read and reduction.
  SymbolicRun(const Problem& problem, const OpTable& ops, const Matching& matching,
              Findings& findings, std::vector<ExpressionId>* steps = nullptr);

  /// Finds reads of undefined bytes (of an alltoallv's scratch and stages they may be read, but not
  /// delivered), and reductions of bytes that do not belong together.
  void run(const EventGraph& graph);

  Expressions& expressions() { return expressions_; }
  const SymbolicMemory& memory(Space space, int owner) const {
    return memories_[index(space, owner)];
  }

 private:
  struct Range {  // of pieces_
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  static std::size_t index(Space space, int owner) {
    constexpr std::size_t kSpaces = 4;
    return static_cast<std::size_t>(owner) * kSpaces + static_cast<std::size_t>(space);
  }
  Range read(OpId op, const Slice& slice);
  void write(const Slice& slice, Range range);
  void note(Range range);
  void check_elements(OpId op, const Slice& slice, Range range);
  void send(OpId op);
  void copy(OpId op);
  void reduce(OpId op);
  Piece combined(OpId op, const Piece& left, const Piece& right);
  void advance(Range& range, Piece& piece, std::uint64_t bytes);

  const OpTable& ops_;
  const Matching& matching_;
  Findings& findings_;
  std::vector<ExpressionId>* const steps_;
  const bool pads_;  // slots are sent with what happens to be behind their blocks
  const std::uint64_t element_bytes_;
  Expressions expressions_;
  std::vector<SymbolicMemory> memories_;
  std::vector<Piece> pieces_;    // only payloads outlive their op
  std::vector<Range> payloads_;  // by send: its bytes
};

}  // namespace weft::plan
