#include "hierarchy/groups.hpp"

#include <algorithm>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::hierarchy {

std::vector<int> even_blocks(int total, int count) {
  std::vector<int> sizes(static_cast<std::size_t>(count), total / count);
  std::fill_n(sizes.begin(), total % count, total / count + 1);
  return sizes;
}

int parse_leaders(std::string_view what, std::string_view text) {
  if (text == "all") return kAllLeaders;
  if (text == "sockets") return kSocketLeaders;
  try {
    return static_cast<int>(env::parse_integer(what, text, 1, kAllLeaders));
  } catch (const UsageError& error) {
    throw_usage("{}, all or sockets", error.what());
  }
}

std::string leaders_text(int leaders) {
  if (leaders == kAllLeaders) return "all";
  return leaders == kSocketLeaders ? "sockets" : std::to_string(leaders);
}

std::vector<Group> groups(const Machine& machine, int leaders) {
  std::vector<Group> result;
  if (leaders == kSocketLeaders) {
    for (int domain = 0; domain < machine.domains(); ++domain) {
      const auto ranks = machine.ranks_in(domain);
      result.push_back({machine.node_of(ranks.front()), ranks});
    }
    return result;
  }
  for (int node = 0; node < machine.nodes(); ++node) {
    auto ranks = machine.ranks_on(node);
    const int total = static_cast<int>(ranks.size());
    for (const int size : even_blocks(total, std::min(leaders, total))) {
      result.push_back({node, ranks.first(static_cast<std::size_t>(size))});
      ranks = ranks.subspan(static_cast<std::size_t>(size));
    }
  }
  return result;
}

}  // namespace weft::hierarchy
