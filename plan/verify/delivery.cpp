#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/verify/checks.hpp"
#include "plan/verify/contract.hpp"
#include "plan/verify/symbolic_run.hpp"

namespace weft::plan {

namespace {

using Segment = SymbolicMemory::Segment;

/// Compares the outputs with the contract.
class Delivery {
 public:
  Delivery(SymbolicRun& run, Findings& findings)
      : run_(run), expressions_(run.expressions()), findings_(findings) {}

  void compare(const Problem& problem,
               const std::function<std::vector<Expectation>(int rank)>& expected_on) {
    in_place_ = problem.in_place;
    for (int rank = 0; rank < problem.ranks && !findings_.full(); ++rank) {
      Output output{rank, run_.memory(Space::output, rank).segments(), 0};
      std::uint64_t checked = 0;
      for (const Expectation& expected : expected_on(rank)) {
        expect_untouched(output, checked, expected.offset);
        expect(output, expected);
        checked = expected.offset + expected.bytes;
      }
      expect_untouched(output, checked, UINT64_MAX);
    }
  }

  /// Results that all ranks get must have the same bits, so be grouped alike. Needs the delivery.
  void compare_groupings(const Problem& problem) {
    if (problem.collective != Collective::allreduce || problem.associative) return;
    for (int rank = 1; rank < problem.ranks && !findings_.full(); ++rank) compare_grouping(rank);
  }

 private:
  struct Output {
    int rank;
    const std::vector<Segment>& segments;
    std::size_t next;  // segments before it end before what is left to compare
  };

  void compare_grouping(int rank) {
    const auto& first = run_.memory(Space::output, 0).segments();
    const auto& here = run_.memory(Space::output, rank).segments();
    for (std::size_t i = 0, j = 0; i < first.size() && j < here.size();) {
      const Segment& a = first[i];
      const Segment& b = here[j];
      if (a.piece.expression != b.piece.expression) {
        const std::uint64_t begin = std::max(a.begin, b.begin);
        const std::uint64_t bytes = std::min(a.end(), b.end()) - begin;
        findings_.add(Flaw::unequal, rank, kNoOp,
                      fmt::format("output@{}:{}+{} is grouped otherwise than output@0:{}+{}", rank,
                                  begin, bytes, begin, bytes));
        return;
      }
      const bool a_ends = a.end() <= b.end();
      const bool b_ends = b.end() <= a.end();
      i += a_ends;
      j += b_ends;
    }
  }

  std::string describe(std::uint64_t origin, std::uint64_t bytes, OperandsId operands) const {
    const auto ranks = expressions_.ranks(operands);
    if (ranks.size() == 1) {
      return fmt::format("{}@{}:{}+{}", in_place_ ? "what began as output" : "input", ranks.front(),
                         origin, bytes);
    }
    return fmt::format("input:{}+{} reduced over ranks {}", origin, bytes, fmt::join(ranks, ","));
  }

  std::string describe(const Piece& piece) const {
    if (piece.expression == kUndefined) return "undefined bytes";
    return describe(piece.origin, piece.bytes, expressions_.operands(piece.expression));
  }

  void wrong(int rank, std::uint64_t begin, std::uint64_t end, std::string_view detail) {
    findings_.add(Flaw::delivery, rank, kNoOp,
                  fmt::format("output@{}:{}+{} {}", rank, begin, end - begin, detail));
  }

  /// In place, bytes that nothing has written hold what their rank brought.
  bool holds_its_own(int rank, const Segment& segment, std::uint64_t at) const {
    const Piece held = segment.piece.part(at - segment.begin, segment.end() - at);
    return in_place_ && held.expression == static_cast<ExpressionId>(rank) && held.origin == at;
  }

  void expect_untouched(Output& output, std::uint64_t from, std::uint64_t to) {
    for (; output.next < output.segments.size(); ++output.next) {
      const auto& segment = output.segments[output.next];
      if (segment.begin >= to) return;
      const std::uint64_t begin = std::max(from, segment.begin);
      const std::uint64_t end = std::min(to, segment.end());
      if (begin < end && !holds_its_own(output.rank, segment, begin)) {
        wrong(output.rank, begin, end, "was written, expected to be left alone");
      }
      if (segment.end() > to) return;
    }
  }

  void expect(Output& output, const Expectation& expected) {
    const OperandsId operands = expressions_.operands_of(expected.origins);
    const std::uint64_t end = expected.offset + expected.bytes;
    std::uint64_t at = expected.offset;
    while (at < end) {
      const std::uint64_t origin = expected.origin_offset + (at - expected.offset);
      const bool written =
          output.next < output.segments.size() && output.segments[output.next].begin < end;
      const std::uint64_t begin = written ? output.segments[output.next].begin : end;
      if (begin > at) {
        wrong(output.rank, at, begin,
              fmt::format("was not written, expected {}", describe(origin, begin - at, operands)));
        at = begin;
        continue;
      }
      const auto& segment = output.segments[output.next];
      const std::uint64_t stop = std::min(end, segment.end());
      const Piece held = segment.piece.part(at - segment.begin, stop - at);
      if (held.expression == kUndefined || held.origin != origin ||
          expressions_.operands(held.expression) != operands) {
        wrong(output.rank, at, stop,
              fmt::format("holds {}, expected {}", describe(held),
                          describe(origin, held.bytes, operands)));
      }
      at = stop;
      if (segment.end() == stop) ++output.next;
    }
  }

  SymbolicRun& run_;
  Expressions& expressions_;
  Findings& findings_;
  bool in_place_ = false;
};

}  // namespace

void check_delivery(const Problem& problem,
                    const std::function<std::vector<Expectation>(int rank)>& expected_on,
                    const OpTable& ops, const Matching& matching, const EventGraph& graph,
                    Findings& findings) {
  if (findings.full()) return;
  SymbolicRun run(problem, ops, matching, findings);
  run.run(graph);
  Delivery delivery(run, findings);
  delivery.compare(problem, expected_on);
  if (!findings.any()) delivery.compare_groupings(problem);
}

}  // namespace weft::plan
