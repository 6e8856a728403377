// Machine: the nodes and domains on which the ranks run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::hierarchy {

/// A placement of ranks on nodes. Nodes may be uneven, interleaved, or of one rank. A value.
///
/// Nodes are numbered 0 to nodes()-1 without gaps. The *place* of a rank is its position among the
/// ranks of its node in ascending order (the paper's "shared memory rank").
///
/// The ranks of a node are divided into *domains*, such as the ranks of a socket or of a cache. By
/// default every node is one domain, with the node's number. Domains are numbered node after node,
/// the domains of a node in the order of their first ranks.
class Machine {
 public:
  static constexpr int kMostRanks = 1 << 20;  ///< of machines made from numbers or text

  /// `node_of_rank[r]` is the node of rank r. UsageError when empty, or when nodes have gaps.
  explicit Machine(std::vector<int> node_of_rank);

  /// Ranks in blocks: node 0 has the first ppn ranks, and so on.
  static Machine uniform(int nodes, int ppn);
  /// Ranks dealt out in turn: rank r is on node r % nodes.
  static Machine cyclic(int nodes, int ppn);
  /// Blocks of different sizes, each at least 1.
  static Machine uneven(std::span<const int> ranks_per_node);

  /// Reads "3x4" (3 nodes of 4, in blocks), "3x4:cyclic", "1+3+4" (blocks), or "0,1,0,1" (the node
  /// of each rank); with domains "3x2x4" (3 nodes of 2 domains of 4, in blocks), or any of the
  /// others and, behind a slash, "2" (each node in 2 domains, in blocks as even as can be),
  /// "2:cyclic" (dealt out by place) or "0,0,1,1" (the domain of each rank on its node). UsageError
  /// names the text and these forms.
  static Machine parse(std::string_view text);

  int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  int nodes() const { return static_cast<int>(first_.size()) - 1; }
  int node_of(int rank) const { return node_of_rank_[rank]; }
  int place_of(int rank) const { return place_of_rank_[rank]; }
  /// The ranks of a node, ascending: the one at index i has place i.
  std::span<const int> ranks_on(int node) const {
    return std::span(by_node_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  int ranks_on_node_of(int rank) const { return static_cast<int>(ranks_on(node_of(rank)).size()); }
  bool same_node(int a, int b) const { return node_of(a) == node_of(b); }
  /// The most ranks that any node has.
  int widest() const;
  std::span<const int> node_of_rank() const { return node_of_rank_; }

  /// Whether some node has more than one domain.
  bool has_domains() const { return !domain_of_rank_.empty(); }
  int domains() const {
    return has_domains() ? static_cast<int>(first_in_domain_.size()) - 1 : nodes();
  }
  int domain_of(int rank) const { return domain_of_rank()[static_cast<std::size_t>(rank)]; }
  std::span<const int> domain_of_rank() const {
    return has_domains() ? domain_of_rank_ : node_of_rank_;
  }
  /// The first domain of a node; its other domains follow.
  int first_domain(int node) const { return has_domains() ? first_domain_[node] : node; }
  int domains_on(int node) const { return first_domain(node + 1) - first_domain(node); }
  /// The ranks of a domain, ascending.
  std::span<const int> ranks_in(int domain) const {
    if (!has_domains()) return ranks_on(domain);
    return std::span(by_domain_)
        .subspan(first_in_domain_[domain], first_in_domain_[domain + 1] - first_in_domain_[domain]);
  }

  /// The same nodes with other domains: ranks of a node share one where their labels, any numbers,
  /// are equal. UsageError unless there is a label for each rank.
  Machine with_domains(std::span<const int> label_of_rank) const;
  Machine without_domains() const { return Machine(node_of_rank_); }

  /// The machine of a communicator of `members`: its rank i is rank members[i] of this machine, its
  /// nodes are numbered in the order in which they first appear. Two members share a domain where
  /// they share one in this machine.
  Machine view(std::span<const int> members) const;

  bool operator==(const Machine& other) const {
    return node_of_rank_ == other.node_of_rank_ && domain_of_rank_ == other.domain_of_rank_;
  }

 private:
  std::vector<int> node_of_rank_;
  std::vector<int> place_of_rank_;
  std::vector<int> by_node_;        // ranks, node after node
  std::vector<std::size_t> first_;  // where each node begins in by_node_
  // All empty where every node is one domain.
  std::vector<int> domain_of_rank_;
  std::vector<int> first_domain_;             // by node, and one more
  std::vector<int> by_domain_;                // ranks, domain after domain
  std::vector<std::size_t> first_in_domain_;  // where each domain begins in by_domain_
};

/// The shortest of the forms that parse() reads; a form without a slash where there is one.
std::string to_string(const Machine& machine);

}  // namespace weft::hierarchy
