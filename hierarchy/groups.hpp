// Leaders: the ranks of a node that communicate with other nodes for a group of its ranks.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// The sizes of `count` blocks that divide `total`, as even as can be, the larger first.
std::vector<int> even_blocks(int total, int count);

/// Special numbers of leaders: every rank of a node is one, or there is one for each domain.
inline constexpr int kAllLeaders = std::numeric_limits<int>::max();
inline constexpr int kSocketLeaders = 0;

/// Reads a number from 1, "all" or "sockets". UsageError, which begins with `what`, on others.
int parse_leaders(std::string_view what, std::string_view text);
/// The text that parse_leaders() reads back.
std::string leaders_text(int leaders);

/// Ranks of a node, consecutive by place or of one domain. The first is their leader.
struct Group {
  int node = 0;
  std::span<const int> ranks;  // ascending; of the machine, which must live longer

  int leader() const { return ranks.front(); }
  int size() const { return static_cast<int>(ranks.size()); }
};

/// The groups of all nodes, node after node. A node has min(leaders, its ranks) groups, blocks by
/// place as even as can be; with kSocketLeaders a group for each domain.
std::vector<Group> groups(const Machine& machine, int leaders);

}  // namespace weft::hierarchy
