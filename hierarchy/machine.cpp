#include "hierarchy/machine.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::hierarchy {

namespace {

constexpr int kMostRanks = 1 << 20;

/// A whole number from 0 to kMostRanks and nothing else.
std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0 ||
      value > kMostRanks) {
    return std::nullopt;
  }
  return value;
}

/// The numbers between the separators; nullopt when one of them is none.
std::optional<std::vector<int>> numbers_in(std::string_view text, char separator) {
  std::vector<int> numbers;
  while (true) {
    const auto length = std::min(text.find(separator), text.size());
    const auto number = number_in(text.substr(0, length));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (length == text.size()) return numbers;
    text.remove_prefix(length + 1);
  }
}

void check_size(int nodes, int ppn) {
  if (nodes < 1 || ppn < 1 || ppn > kMostRanks / nodes) {
    throw_usage("machine of {} nodes with {} ranks each: both are at least 1, the ranks at most {}",
                nodes, ppn, kMostRanks);
  }
}

std::string join(std::span<const int> numbers, char separator) {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

[[noreturn]] void refuse(std::string_view text) {
  throw_usage(
      "machine '{}': not NODESxRANKS (3x4), NODESxRANKS:cyclic, ranks a node joined by + (1+3+4), "
      "or the node of each rank (0,1,0,1) without gaps, of at most {} ranks",
      text, kMostRanks);
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

Machine Machine::parse(std::string_view text) {
  constexpr std::string_view cyclic_suffix = ":cyclic";
  try {
    if (const auto x = text.find('x'); x != text.npos) {
      std::string_view rest = text.substr(x + 1);
      const bool dealt = rest.ends_with(cyclic_suffix);
      if (dealt) rest.remove_suffix(cyclic_suffix.size());
      const auto nodes = number_in(text.substr(0, x));
      const auto ppn = number_in(rest);
      if (nodes && ppn) return dealt ? cyclic(*nodes, *ppn) : uniform(*nodes, *ppn);
    } else if (text.find('+') != text.npos) {
      if (const auto sizes = numbers_in(text, '+')) return uneven(*sizes);
    } else if (text.find(',') != text.npos) {
      if (auto nodes = numbers_in(text, ',')) return Machine(std::move(*nodes));
    }
  } catch (const UsageError&) {
    // Well-formed, but no machine: the one message below says what is allowed.
  }
  refuse(text);
}

int Machine::widest() const {
  std::size_t most = 0;
  for (std::size_t node = 0; node + 1 < first_.size(); ++node) {
    most = std::max(most, first_[node + 1] - first_[node]);
  }
  return static_cast<int>(most);
}

Machine Machine::view(std::span<const int> members) const {
  std::vector<bool> taken(node_of_rank_.size());
  std::vector<int> number(static_cast<std::size_t>(nodes()), -1);
  std::vector<int> node_of_member;
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
  }
  return Machine(std::move(node_of_member));
}

std::string to_string(const Machine& machine) {
  const int nodes = machine.nodes();
  const int ppn = machine.ranks() / nodes;
  std::vector<int> sizes;
  for (int node = 0; node < nodes; ++node) {
    sizes.push_back(static_cast<int>(machine.ranks_on(node).size()));
  }
  std::vector<std::string> forms;
  if (ppn * nodes == machine.ranks()) {
    if (machine == Machine::uniform(nodes, ppn)) forms.push_back(fmt::format("{}x{}", nodes, ppn));
    if (machine == Machine::cyclic(nodes, ppn)) {
      forms.push_back(fmt::format("{}x{}:cyclic", nodes, ppn));
    }
  }
  if (nodes > 1 && machine == Machine::uneven(sizes)) forms.push_back(join(sizes, '+'));
  if (machine.ranks() > 1) forms.push_back(join(machine.node_of_rank(), ','));
  return *std::ranges::min_element(forms, {}, &std::string::size);
}

}  // namespace weft::hierarchy
