#include "hierarchy/machine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::hierarchy {

namespace {

void check_size(int nodes, int ppn) {
  if (nodes < 1 || ppn < 1 || ppn > Machine::kMostRanks / nodes) {
    throw_usage("machine of {} nodes with {} ranks each: both are at least 1, the ranks at most {}",
                nodes, ppn, Machine::kMostRanks);
  }
}

}  // namespace

Machine::Machine(std::vector<int> node_of_rank) : node_of_rank_(std::move(node_of_rank)) {
  if (node_of_rank_.empty()) throw_usage("machine without ranks: there is at least 1");
  const int ranks = checked_cast<int>(node_of_rank_.size());
  const auto [lowest, highest] = std::ranges::minmax(node_of_rank_);
  if (lowest < 0 || highest >= ranks) {
    throw_usage("machine of {} ranks: node {} is not from 0 to {}", ranks,
                lowest < 0 ? lowest : highest, ranks - 1);
  }
  std::vector<std::size_t> sizes(static_cast<std::size_t>(highest) + 1);
  place_of_rank_.reserve(node_of_rank_.size());
  for (const int node : node_of_rank_) place_of_rank_.push_back(static_cast<int>(sizes[node]++));
  first_ = {0};
  for (std::size_t node = 0; node < sizes.size(); ++node) {
    if (sizes[node] == 0) {
      throw_usage("machine of {} ranks: node {} has none, but there is a node {}", ranks, node,
                  highest);
    }
    first_.push_back(first_.back() + sizes[node]);
  }
  by_node_.resize(node_of_rank_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    by_node_[first_[node_of_rank_[rank]] + place_of_rank_[rank]] = rank;
  }
}

Machine Machine::uniform(int nodes, int ppn) {
  check_size(nodes, ppn);
  std::vector<int> node_of_rank(static_cast<std::size_t>(nodes) * ppn);
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    node_of_rank[rank] = static_cast<int>(rank) / ppn;
  }
  return Machine(std::move(node_of_rank));
}

Machine Machine::cyclic(int nodes, int ppn) {
  check_size(nodes, ppn);
  std::vector<int> node_of_rank(static_cast<std::size_t>(nodes) * ppn);
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    node_of_rank[rank] = static_cast<int>(rank) % nodes;
  }
  return Machine(std::move(node_of_rank));
}

Machine Machine::uneven(std::span<const int> ranks_per_node) {
  std::vector<int> node_of_rank;
  for (std::size_t node = 0; node < ranks_per_node.size(); ++node) {
    const int ranks = ranks_per_node[node];
    if (ranks < 1 || ranks > kMostRanks - static_cast<int>(node_of_rank.size())) {
      throw_usage("machine: {} ranks on node {}: each node has at least 1, all at most {}", ranks,
                  node, kMostRanks);
    }
    node_of_rank.insert(node_of_rank.end(), ranks, static_cast<int>(node));
  }
  return Machine(std::move(node_of_rank));
}

int Machine::widest() const {
  std::size_t most = 0;
  for (std::size_t node = 0; node + 1 < first_.size(); ++node) {
    most = std::max(most, first_[node + 1] - first_[node]);
  }
  return static_cast<int>(most);
}

Machine Machine::with_domains(std::span<const int> label_of_rank) const {
  if (label_of_rank.size() != node_of_rank_.size()) {
    throw_usage("machine of {} ranks: domains of {} ranks, there must be as many", ranks(),
                label_of_rank.size());
  }
  Machine result = without_domains();
  std::vector<int> domain_of_rank(node_of_rank_.size());
  std::vector<int> first_domain = {0};
  std::vector<std::vector<int>> members;
  for (int node = 0; node < nodes(); ++node) {
    std::map<int, int> domain_of_label;
    for (const int rank : ranks_on(node)) {
      const auto [entry, is_new] =
          domain_of_label.try_emplace(label_of_rank[rank], static_cast<int>(members.size()));
      if (is_new) members.emplace_back();
      domain_of_rank[rank] = entry->second;
      members[entry->second].push_back(rank);
    }
    first_domain.push_back(static_cast<int>(members.size()));
  }
  if (first_domain.back() == nodes()) return result;
  result.domain_of_rank_ = std::move(domain_of_rank);
  result.first_domain_ = std::move(first_domain);
  result.first_in_domain_ = {0};
  for (const auto& ranks : members) {
    result.by_domain_.insert(result.by_domain_.end(), ranks.begin(), ranks.end());
    result.first_in_domain_.push_back(result.by_domain_.size());
  }
  return result;
}

Machine Machine::view(std::span<const int> members) const {
  std::vector<bool> taken(node_of_rank_.size());
  std::vector<int> number(static_cast<std::size_t>(nodes()), -1);
  std::vector<int> node_of_member;
  std::vector<int> domain_of_member;
  node_of_member.reserve(members.size());
  int seen = 0;
  for (const int rank : members) {
    if (rank < 0 || rank >= ranks() || taken[rank]) {
      throw_usage("view of a machine of {} ranks: member {} is not one of them, or there twice",
                  ranks(), rank);
    }
    taken[rank] = true;
    int& node = number[node_of(rank)];
    if (node < 0) node = seen++;
    node_of_member.push_back(node);
    if (has_domains()) domain_of_member.push_back(domain_of(rank));
  }
  Machine result(std::move(node_of_member));
  return has_domains() ? result.with_domains(domain_of_member) : result;
}

}  // namespace weft::hierarchy
