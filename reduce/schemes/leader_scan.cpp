// Leaders for scan and exscan: k ranks of a node each compute all prefixes of the node for a part
// of the vector, and what all nodes before this one add up to; every rank puts the two together.
//
//   node A: A0 A1 A2                       node B: B0 B1 B2
//   A0, A0+A1, A0+A1+A2  by the leader     B0, B0+B1, B0+B1+B2             local
//   its total --------------------------> sum of the nodes before          exscan between leaders
//                                         Bi = that + its prefix           local
//
// Parts are led as in a leader reduce, by sockets too. With N nodes of P ranks in order, vectors of
// n bytes that K = min(k, P) parts divide evenly, R(x) what the exscan between nodes costs for N
// members and x bytes:
//   rounds    those of `between`
//   messages  a leader those of R(n/K); other ranks none
//   signals   a rank K to leaders (a leader K - 1), a leader P - 1 more
//   copied    staged n; a leader P n/K; each rank n
//   reduced   a leader (P - 1) n/K and that of R(n/K); each rank behind the first node n
//   stage     staged n; a leader P n/K, and n/K behind the first node; each part rounded up to 64
//   scratch   that of R(n/K)
//
// A prefix of ranks is a prefix of nodes only where the ranks of each node follow one another;
// other placements are refused.
#include <array>

#include "base/cast.hpp"
#include "reduce/flat/cut.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/leader_reduction.hpp"

namespace weft::reduce {

using plan::Collective;
using plan::Slice;
using plan::Space;

namespace {

class LeaderScan : LeaderReduction {
 public:
  LeaderScan(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
             const Parameters& parameters)
      : LeaderReduction(ledger, problem, machine, parameters, problem.block_bytes),
        cut_(problem.block_bytes, problem.grain(), most_leaders()) {
    for (int part = 0; part < cut_.parts(); ++part) {
      const Block block = cut_.part(part);
      if (block.bytes == 0) continue;
      leaders_.insert(leader(nodes_.own(), part));
      if (leader(nodes_.own(), part) != self_) continue;
      ledger.builder().allocate_stage(slots() * slot_bytes(block));
    }
  }

  void emit() {
    if (vectors_.is_staged() && (leaders_.size() != 1 || !leaders_.contains(self_))) {
      ledger_.copy(Slice::contiguous(Space::stage, self_, 0, problem_.block_bytes),
                   vectors_.of(self_));
    }
    vectors_.open(leaders_);
    for (int part = 0; part < cut_.parts(); ++part) {
      if (cut_.part(part).bytes > 0 && leader(nodes_.own(), part) == self_) lead(part);
    }
    for (int part = 0; part < cut_.parts(); ++part) {
      if (cut_.part(part).bytes > 0) take(part);
    }
  }

 private:
  bool is_scan() const { return problem_.collective == Collective::scan; }
  int places() const { return static_cast<int>(nodes_.own_ranks().size()); }
  int leader(int node, int part) const {
    if (sockets_.are_asked_for()) return sockets_.leader(node, part);
    const auto ranks = nodes_.ranks(node);
    return ranks[static_cast<std::size_t>(part) * ranks.size() /
                 static_cast<std::size_t>(cut_.parts())];
  }
  static std::uint64_t slot_bytes(const Block& block) {
    return round_up(block.bytes, plan::kSliceAlignment);
  }

  /// A rank alone on its node needs no prefixes, and only a scan needs the sum of the nodes before
  /// apart from the output.
  std::uint64_t slots() const {
    if (places() > 1) return static_cast<std::uint64_t>(places()) + 1;
    return is_scan() && is_behind_nodes() ? 1 : 0;
  }

  /// In the stage of a part's leader: the prefixes by place, then the sum of the nodes before.
  Slice slot(int part, int index) const {
    const int lead = leader(nodes_.own(), part);
    std::uint64_t at = vectors_.stage_bytes();
    for (int before = 0; before < part; ++before) {
      const Block block = cut_.part(before);
      if (leader(nodes_.own(), before) != lead || block.bytes == 0) continue;
      at += slots() * slot_bytes(block);
    }
    const Block block = cut_.part(part);
    return Slice::contiguous(Space::stage, lead,
                             at + static_cast<std::uint64_t>(index) * slot_bytes(block),
                             block.bytes);
  }
  Slice prefix(int part, int place) const {
    if (places() == 1) return part_of(vectors_.of(self_), cut_.part(part));
    return slot(part, place);
  }
  Slice nodes_before(int part) const {
    if (places() == 1 && !is_scan()) return output(part);
    return slot(part, places() == 1 ? 0 : places());
  }
  Slice output(int part) const {
    const Block block = cut_.part(part);
    return Slice::contiguous(Space::output, self_, block.offset, block.bytes);
  }
  bool is_behind_nodes() const { return nodes_.own() > 0; }
  /// Of the rank at `place`: the index of its prefix, -1 for none.
  int prefix_of(int place) const { return is_scan() ? place : place - 1; }

  void lead(int part) {
    const Block block = cut_.part(part);
    int place = 0;
    for (const int rank : nodes_.own_ranks()) {
      const Slice vector = part_of(vectors_.of(rank), block);
      const Slice sum = prefix(part, place);
      if (place == 0) {
        ledger_.copy(sum, vector);
      } else {
        ledger_.copy(sum, prefix(part, place - 1));
        ledger_.reduce(sum, vector, Operand::left);
      }
      ++place;
    }
    if (nodes_.count() > 1) scan_between(part);
    place = 0;
    for (const int rank : nodes_.own_ranks()) {
      const auto reads = reads_of(part, place++);
      if (rank == self_) continue;
      // With `direct` the rank's input is its own again, too.
      const Slice input = part_of(vectors_.of(rank), block);
      if (parameters_.direct) {
        ledger_.signal(rank, reads, std::array{input});
      } else {
        ledger_.signal(rank, reads);
      }
    }
  }

  void scan_between(int part) {
    const Reduction reduction =
        between_nodes([&](int node) { return leader(node, part); }, prefix(part, places() - 1),
                      is_behind_nodes() ? nodes_before(part) : Slice());
    const auto emit = emit_of<algorithm::EmitReduction>(*parameters_.between, Collective::exscan);
    emit(ledger_, reduction, parameters_);
  }

  /// What a rank's result is put together from, from left to right.
  std::vector<Slice> reads_of(int part, int place) const {
    std::vector<Slice> reads;
    if (is_behind_nodes()) reads.push_back(nodes_before(part));
    if (prefix_of(place) >= 0) reads.push_back(prefix(part, prefix_of(place)));
    return reads;
  }

  void take(int part) {
    const auto reads = reads_of(part, nodes_.place());
    const int from = leader(nodes_.own(), part);
    if (from != self_) ledger_.wait(from, reads);
    if (!reads.empty()) ledger_.copy(output(part), reads.front());
    if (reads.size() > 1) ledger_.reduce(output(part), reads.back(), Operand::left);
  }

  const Cut cut_;
};

}  // namespace

void leader_scan(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                 const Parameters& parameters) {
  LeaderScan(ledger, problem, machine, parameters).emit();
}

}  // namespace weft::reduce
