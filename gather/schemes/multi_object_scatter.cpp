// Scatter with every rank of a node on the network: a tree of nodes in which a node of P ranks
// splits what it has for the nodes below into P + 1 even parts, keeps the first, and each rank
// sends one of the others; then the same with what was kept. Ranks take their own blocks while the
// messages are on their way.
//
//   2 ranks a node, 9 nodes:   round 1: node 0 -> 3 (rank 0: blocks of 3 4 5), 6 (rank 1: 6 7 8)
//                              round 2: node 0 -> 1, 2; node 3 -> 4, 5; node 6 -> 7, 8
//
// On the root's node the root sends from its input, and puts what its peers are to send into its
// stage; on another node the first rank receives into its stage, from where all of the node send
// and take. A rank alone on its node that has nothing to send on receives into its output.
//
// With N nodes, P ranks on each, blocks of m bytes, n = N P m:
//   rounds    ceil(log_(P+1) N)
//   messages  N - 1 in all; of a rank at most one for each round
//   bytes     (N - 1) P m of the root's node
//   copied    by the root what its peers send, (P - 1) / P of the above if parts are even, and its
//             node's blocks, staged 2 P m - m; on other nodes P m
//   stage     of the root (P - 1) / P (N - 1) P m + (P - 1) m; of one rank of each other node what
//             it has for itself and the nodes below
//   signals   P - 1 on each node, for what is sent and taken; on the root's node one for each part
//             that a peer sends, and P - 1
// With inside=direct, on the root's node, peers copy their parts out of the root's input into their
// own stages, all at once: the same bytes in all, stage of the root 0, twice the signals.
//
// Source: Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI Collectives", 2023,
// section III-A1, Figure 2. There peers send from the root's buffer itself; a stage is what the
// network knows here. Numbers of nodes that are no power of P + 1, uneven and interleaved nodes
// are ours.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/team_of_all.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/leaders.hpp"
#include "gather/schemes/node_rounds.hpp"

namespace weft::gather {

using algorithm::CopyForm;
using hierarchy::Machine;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

class MultiObjectScatter {
 public:
  MultiObjectScatter(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                     CopyForm form)
      : builder_(builder),
        problem_(problem),
        machine_(machine),
        form_(form),
        self_(builder.rank()),
        node_(machine.node_of(self_)),
        root_node_(machine.node_of(problem.root)),
        local_(machine.ranks_on(node_)),
        tree_(find_in_node_tree(machine, root_node_, node_)),
        stages_(builder) {}

  void emit() {
    if (node_ == root_node_) {
      for (const NodeTree::Child& child : tree_.children) send_from_root(child);
      serve_own_node();
    } else if (local_.size() == 1 && tree_.own.size() == 1) {
      builder_.recv(tree_.sender, own_block());
    } else {
      pass_on();
    }
  }

 private:
  std::vector<int> ranks_of(const Range& nodes) const {
    std::vector<int> ranks;
    for (int index = nodes.first; index < nodes.last; ++index) {
      const auto more = machine_.ranks_on(node_at(machine_, root_node_, index));
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    return ranks;
  }

  int head_of(const Range& nodes) const {
    return machine_.ranks_on(node_at(machine_, root_node_, nodes.first)).front();
  }

  Slice own_block() const {
    return Slice::contiguous(Space::output, self_, 0, problem_.block(self_).bytes);
  }

  /// The root sends its own part from its input, packed where it is not one slice; the parts of its
  /// peers it puts into its stage.
  void send_from_root(const NodeTree::Child& child) {
    const std::vector<int> ranks = ranks_of(child.nodes);
    const std::uint64_t bytes = bytes_of(problem_, ranks);
    if (bytes == 0) return;
    const Slices source = blocks_at(problem_, Space::input, problem_.root, ranks);
    const bool by_root = child.sender == problem_.root;
    if (by_root && source.size() == 1) {
      if (self_ == problem_.root) builder_.send(head_of(child.nodes), source.front());
      return;
    }
    if (!by_root && form_ == CopyForm::direct) return send_directly(child, bytes, source);
    const Slice part = stages_.allocate(problem_.root, bytes);
    Ops ready;
    if (self_ == problem_.root) {
      builder_.gather(part, source, {}, ready);
      if (!by_root) builder_.signal(child.sender, ready);
    }
    if (self_ != child.sender) return;
    if (!by_root) ready = {builder_.wait(problem_.root)};
    builder_.send(head_of(child.nodes), part, ready);
  }

  /// A peer takes its part out of the root's input, which must not end before that.
  void send_directly(const NodeTree::Child& child, std::uint64_t bytes, const Slices& source) {
    const Slice part = stages_.allocate(child.sender, bytes);
    if (self_ == problem_.root) {
      builder_.signal(child.sender);
      builder_.wait(child.sender);
    }
    if (self_ != child.sender) return;
    Ops ready;
    builder_.gather(part, source, builder_.wait(problem_.root), ready);
    builder_.signal(problem_.root, ready);
    builder_.send(head_of(child.nodes), part, ready);
  }

  void serve_own_node() {
    Team team = team_of(local_, self_, problem_.root, stages_);
    team.bytes = [this](int block) { return problem_.block(local_[block]).bytes; };
    team.holds = [root = team.root](int member, int) { return member == root; };
    team.source = [this](int, int block) {
      return blocks_at(problem_, Space::input, problem_.root, {&local_[block], 1});
    };
    team.target = [this](int member, int block) {
      if (member != block) return Slices();
      return at(Space::output, local_[member], 0, problem_.block(local_[member]).bytes);
    };
    copy_inside_node(builder_, team, form_);
  }

  /// Not on the root's node: the first rank receives for all, each sends and takes from its stage.
  void pass_on() {
    const std::uint64_t bytes = bytes_of(problem_, ranks_of(tree_.own));
    if (bytes == 0) return;
    const int head = local_.front();
    const Slice all = stages_.allocate(head, bytes);
    OpId there = plan::kNoOp;
    if (self_ == head) {
      there = builder_.recv(tree_.sender, all);
      for (const int peer : local_.subspan(1)) builder_.signal(peer, there);
    } else {
      there = builder_.wait(head);
    }
    const auto piece = [&](std::uint64_t from, std::uint64_t length) {
      return Slice::contiguous(Space::stage, head, all.offset + from, length);
    };
    for (const NodeTree::Child& child : tree_.children) {
      if (child.sender != self_) continue;
      builder_.send(head_of(child.nodes),
                    piece(bytes_of(problem_, ranks_of({tree_.own.first, child.nodes.first})),
                          bytes_of(problem_, ranks_of(child.nodes))),
                    there);
    }
    const auto place = static_cast<std::size_t>(machine_.place_of(self_));
    builder_.copy(own_block(),
                  piece(bytes_of(problem_, local_.first(place)), problem_.block(self_).bytes),
                  there);
  }

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const Machine& machine_;
  const CopyForm form_;
  const int self_;
  const int node_;
  const int root_node_;
  const std::span<const int> local_;
  const NodeTree tree_;
  hierarchy::Stages stages_;
};

}  // namespace

void multi_object_scatter(plan::Builder& builder, const plan::Problem& problem,
                          const Machine& machine, const Parameters& parameters) {
  MultiObjectScatter(builder, problem, machine, parameters.inside->form).emit();
}

}  // namespace weft::gather
