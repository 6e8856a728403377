#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/checks.hpp"
#include "plan/contract.hpp"
#include "plan/symbolic.hpp"

namespace weft::plan {

namespace {

/// Runs the ops on symbolic memory, then compares the outputs with the contract.
class Delivery {
 public:
  Delivery(const OpTable& ops, const Matching& matching, Findings& findings)
      : ops_(ops),
        matching_(matching),
        findings_(findings),
        sequences_(ops.ranks()),
        memories_(static_cast<std::size_t>(ops.ranks()) * kSpaces),
        payloads_(ops.size()) {
    for (int rank = 0; rank < ops.ranks(); ++rank) {
      const std::uint64_t bytes = ops.plans()[static_cast<std::size_t>(rank)].input_bytes();
      if (bytes == 0) continue;
      const Piece all{bytes, 0, static_cast<SequenceId>(rank)};
      memory(Space::input, rank).write({Space::input, rank, 0, bytes, 1, bytes}, {&all, 1});
    }
  }

  void run(const EventGraph& graph) {
    for (const Event event : graph.order()) {
      const OpId op = op_of(event);
      const OpKind kind = ops_[op].kind;
      if (is_start(event)) {
        if (kind == OpKind::send) send(op);
        if (kind == OpKind::copy) copy(op);
        if (kind == OpKind::reduce) reduce(op);
      } else if (kind == OpKind::recv) {
        recv(op);
      }
    }
  }

  void compare(const Problem& problem) {
    for (int rank = 0; rank < ops_.ranks() && !findings_.full(); ++rank) {
      Output output{rank, memory(Space::output, rank).segments(), 0};
      std::uint64_t checked = 0;
      for (const Expectation& expected : contract(problem, rank)) {
        expect_untouched(output, checked, expected.offset);
        expect(output, expected);
        checked = expected.offset + expected.bytes;
      }
      expect_untouched(output, checked, UINT64_MAX);
    }
  }

 private:
  static constexpr std::size_t kSpaces = 4;
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Output {
    int rank;
    const std::vector<SymbolicMemory::Segment>& segments;
    std::size_t next;  // segments before it end before what is left to compare
  };

  SymbolicMemory& memory(Space space, int owner) {
    return memories_[static_cast<std::size_t>(owner) * kSpaces + static_cast<std::size_t>(space)];
  }

  /// Appends what the slice holds to pieces_.
  Range read(OpId op, const Slice& slice) {
    const std::size_t begin = pieces_.size();
    memory(slice.space, slice.owner).read(slice, pieces_);
    for (std::size_t i = begin; i < pieces_.size(); ++i) {
      if (pieces_[i].sequence != kUndefined) continue;
      findings_.add(Flaw::undefined, ops_, op,
                    fmt::format("reads {}, of which nothing has written {} bytes", to_string(slice),
                                pieces_[i].bytes));
      break;
    }
    return {begin, pieces_.size()};
  }

  void write(const Slice& slice, Range range) {
    memory(slice.space, slice.owner)
        .write(slice, std::span(pieces_).subspan(range.begin, range.end - range.begin));
  }

  void send(OpId op) { payloads_[op] = read(op, ops_[op].src); }
  void recv(OpId op) { write(ops_[op].dst, payloads_[matching_.partner[op]]); }

  // Only payloads outlive their op.
  void copy(OpId op) {
    const Range range = read(op, ops_[op].src);
    write(ops_[op].dst, range);
    pieces_.resize(range.begin);
  }

  void reduce(OpId op) {
    const bool dst_left = ops_[op].dst_operand == Operand::left;
    Range left = read(op, dst_left ? ops_[op].dst : ops_[op].src);
    Range right = read(op, dst_left ? ops_[op].src : ops_[op].dst);
    const std::size_t first = left.begin;
    const std::size_t result = pieces_.size();
    bool aligned = true;
    Piece a = pieces_[left.begin];
    Piece b = pieces_[right.begin];
    while (left.begin < left.end && right.begin < right.end) {
      const std::uint64_t bytes = std::min(a.bytes, b.bytes);
      Piece sum{bytes, 0, kUndefined};
      if (a.sequence != kUndefined && b.sequence != kUndefined) {
        if (a.origin == b.origin) {
          sum = {bytes, a.origin, sequences_.concatenate(a.sequence, b.sequence)};
        } else {
          aligned = false;
        }
      }
      append(pieces_, result, sum);
      advance(left, a, bytes);
      advance(right, b, bytes);
    }
    if (!aligned) {
      findings_.add(Flaw::delivery, ops_, op,
                    "reduces bytes of different offsets, expected the same of each input");
    }
    write(ops_[op].dst, {result, pieces_.size()});
    pieces_.resize(first);
  }

  void advance(Range& range, Piece& piece, std::uint64_t bytes) {
    piece = piece.part(bytes, piece.bytes - bytes);
    if (piece.bytes == 0 && ++range.begin < range.end) piece = pieces_[range.begin];
  }

  std::string describe(std::uint64_t origin, std::uint64_t bytes, SequenceId sequence) const {
    if (sequence == kUndefined) return "undefined bytes";
    const auto& ranks = sequences_.ranks(sequence);
    if (ranks.size() == 1) return fmt::format("input@{}:{}+{}", ranks.front(), origin, bytes);
    return fmt::format("input:{}+{} reduced over ranks {}", origin, bytes, fmt::join(ranks, ","));
  }

  void wrong(int rank, std::uint64_t begin, std::uint64_t end, std::string_view detail) {
    findings_.add(Flaw::delivery, rank, kNoOp,
                  fmt::format("output@{}:{}+{} {}", rank, begin, end - begin, detail));
  }

  void expect_untouched(Output& output, std::uint64_t from, std::uint64_t to) {
    for (; output.next < output.segments.size(); ++output.next) {
      const auto& segment = output.segments[output.next];
      if (segment.begin >= to) return;
      const std::uint64_t begin = std::max(from, segment.begin);
      const std::uint64_t end = std::min(to, segment.end());
      if (begin < end) wrong(output.rank, begin, end, "was written, expected to be left alone");
      if (segment.end() > to) return;
    }
  }

  void expect(Output& output, const Expectation& expected) {
    const SequenceId sequence = sequences_.intern(expected.origins);
    const std::uint64_t end = expected.offset + expected.bytes;
    std::uint64_t at = expected.offset;
    while (at < end) {
      const std::uint64_t origin = expected.origin_offset + (at - expected.offset);
      const bool written =
          output.next < output.segments.size() && output.segments[output.next].begin < end;
      const std::uint64_t begin = written ? output.segments[output.next].begin : end;
      if (begin > at) {
        wrong(output.rank, at, begin,
              fmt::format("was not written, expected {}", describe(origin, begin - at, sequence)));
        at = begin;
        continue;
      }
      const auto& segment = output.segments[output.next];
      const std::uint64_t stop = std::min(end, segment.end());
      const Piece held = segment.piece.part(at - segment.begin, stop - at);
      if (held.sequence != sequence || held.origin != origin) {
        wrong(output.rank, at, stop,
              fmt::format("holds {}, expected {}", describe(held.origin, held.bytes, held.sequence),
                          describe(origin, held.bytes, sequence)));
      }
      at = stop;
      if (segment.end() == stop) ++output.next;
    }
  }

  const OpTable& ops_;
  const Matching& matching_;
  Findings& findings_;
  Sequences sequences_;
  std::vector<SymbolicMemory> memories_;
  std::vector<Piece> pieces_;
  std::vector<Range> payloads_;  // by send: what it carries, in pieces_
};

}  // namespace

void check_delivery(const Problem& problem, const OpTable& ops, const Matching& matching,
                    const EventGraph& graph, Findings& findings) {
  if (findings.full()) return;
  Delivery delivery(ops, matching, findings);
  delivery.run(graph);
  delivery.compare(problem);
}

}  // namespace weft::plan
