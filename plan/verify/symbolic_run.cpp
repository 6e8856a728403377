#include "plan/verify/symbolic_run.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::plan {

SymbolicRun::SymbolicRun(const Problem& problem, const OpTable& ops, const Matching& matching,
                         Findings& findings, std::vector<ExpressionId>* steps)
    : ops_(ops),
      matching_(matching),
      findings_(findings),
      steps_(steps),
      pads_(problem.collective == Collective::alltoallv),
      element_bytes_(is_reduction(problem.collective) ? problem.element_bytes : 1),
      expressions_(ops.ranks(), is_reduction(problem.collective) && problem.commutative),
      memories_(index(Space::input, ops.ranks())),
      payloads_(ops.size()) {
  const Space origin = problem.in_place ? Space::output : Space::input;
  for (int rank = 0; rank < ops.ranks(); ++rank) {
    const std::uint64_t bytes = ops.plans()[static_cast<std::size_t>(rank)].space_bytes(origin);
    if (bytes == 0) continue;
    const Piece all{bytes, 0, static_cast<ExpressionId>(rank)};
    memories_[index(origin, rank)].write({origin, rank, 0, bytes, 1, bytes}, {&all, 1});
  }
}

void SymbolicRun::run(const EventGraph& graph) {
  for (const Event event : graph.order()) {
    const OpId op = op_of(event);
    const OpKind kind = ops_[op].kind;
    if (is_start(event)) {
      if (kind == OpKind::send) send(op);
      if (kind == OpKind::copy) copy(op);
      if (kind == OpKind::reduce) reduce(op);
    } else if (kind == OpKind::recv) {
      write(ops_[op].dst, payloads_[matching_.partner[op]]);
    }
  }
}

/// Appends the slice's pieces to pieces_.
SymbolicRun::Range SymbolicRun::read(OpId op, const Slice& slice) {
  const std::size_t begin = pieces_.size();
  memory(slice.space, slice.owner).read(slice, pieces_);
  const bool may_be_undefined =
      pads_ && (slice.space == Space::scratch || slice.space == Space::stage);
  for (std::size_t i = begin; i < pieces_.size() && !may_be_undefined; ++i) {
    if (pieces_[i].expression != kUndefined) continue;
    findings_.add(Flaw::undefined, ops_, op,
                  fmt::format("reads {}, of which nothing has written {} bytes", to_string(slice),
                              pieces_[i].bytes));
    break;
  }
  note({begin, pieces_.size()});
  return {begin, pieces_.size()};
}

void SymbolicRun::note(Range range) {
  if (steps_ == nullptr) return;
  steps_->push_back(static_cast<ExpressionId>(range.end - range.begin));
  for (std::size_t i = range.begin; i < range.end; ++i) steps_->push_back(pieces_[i].expression);
}

void SymbolicRun::write(const Slice& slice, Range range) {
  memories_[index(slice.space, slice.owner)].write(
      slice, std::span(pieces_).subspan(range.begin, range.end - range.begin));
}

/// Elements must not be cut, because the executor reduces messages as they come in.
void SymbolicRun::check_elements(OpId op, const Slice& slice, Range range) {
  if (element_bytes_ == 1) return;
  bool whole = slice.block_bytes % element_bytes_ == 0;
  for (std::size_t i = range.begin; i < range.end && whole; ++i) {
    whole = pieces_[i].bytes % element_bytes_ == 0 &&
            (pieces_[i].expression == kUndefined || pieces_[i].origin % element_bytes_ == 0);
  }
  if (whole) return;
  findings_.add(
      Flaw::element, ops_, op,
      fmt::format("{} is not of whole elements of {} bytes", to_string(slice), element_bytes_));
}

void SymbolicRun::send(OpId op) {
  payloads_[op] = read(op, ops_[op].src);
  check_elements(op, ops_[op].src, payloads_[op]);
}

void SymbolicRun::copy(OpId op) {
  const Range range = read(op, ops_[op].src);
  write(ops_[op].dst, range);
  pieces_.resize(range.begin);
}

void SymbolicRun::reduce(OpId op) {
  const bool dst_left = ops_[op].dst_operand == Operand::left;
  const Slice& left_slice = dst_left ? ops_[op].dst : ops_[op].src;
  const Slice& right_slice = dst_left ? ops_[op].src : ops_[op].dst;
  Range left = read(op, left_slice);
  Range right = read(op, right_slice);
  check_elements(op, left_slice, left);
  check_elements(op, right_slice, right);
  const std::size_t first = left.begin;
  const std::size_t result = pieces_.size();
  // Where some counts are 0, plans of a layout family reduce slices without bytes.
  const bool has_bytes = left.begin < left.end && right.begin < right.end;
  Piece a = has_bytes ? pieces_[left.begin] : Piece{};
  Piece b = has_bytes ? pieces_[right.begin] : Piece{};
  while (left.begin < left.end && right.begin < right.end) {
    const std::uint64_t bytes = std::min(a.bytes, b.bytes);
    append(pieces_, result, combined(op, a.part(0, bytes), b.part(0, bytes)));
    advance(left, a, bytes);
    advance(right, b, bytes);
  }
  note({result, pieces_.size()});
  write(ops_[op].dst, {result, pieces_.size()});
  pieces_.resize(first);
}

Piece SymbolicRun::combined(OpId op, const Piece& left, const Piece& right) {
  if (left.expression == kUndefined || right.expression == kUndefined) {
    return {left.bytes, 0, kUndefined};
  }
  if (left.origin != right.origin) {
    findings_.add(Flaw::delivery, ops_, op,
                  "reduces bytes of different offsets, expected the same of each input");
    return {left.bytes, 0, kUndefined};
  }
  return {left.bytes, left.origin, expressions_.combine(left.expression, right.expression)};
}

void SymbolicRun::advance(Range& range, Piece& piece, std::uint64_t bytes) {
  piece = piece.part(bytes, piece.bytes - bytes);
  if (piece.bytes == 0 && ++range.begin < range.end) piece = pieces_[range.begin];
}

}  // namespace weft::plan
