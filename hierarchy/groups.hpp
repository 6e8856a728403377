// Leaders: the ranks of a node that speak for it.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// The sizes of `count` blocks of `total` things in all, as even as can be, the larger first.
std::vector<int> even_blocks(int total, int count);

/// Numbers of leaders that stand for a rule: every rank of a node, and one a domain.
inline constexpr int kAllLeaders = std::numeric_limits<int>::max();
inline constexpr int kSocketLeaders = 0;

/// Reads a number from 1, "all" or "sockets". UsageError, which begins with `what`, on others.
int parse_leaders(std::string_view what, std::string_view text);
/// What parse_leaders() reads.
std::string leaders_text(int leaders);

/// Ranks of a node, neighbours or of one domain, and the one that speaks for them: the first.
struct Group {
  int node = 0;
  std::span<const int> ranks;  // ascending; of the machine, which must live longer

  int leader() const { return ranks.front(); }
  int size() const { return static_cast<int>(ranks.size()); }
};

/// The groups of all nodes, node after node: on each node min(leaders, its ranks), in blocks by
/// place as even as can be; with kSocketLeaders its domains.
std::vector<Group> groups(const Machine& machine, int leaders);

}  // namespace weft::hierarchy
