// Trees over point-to-point messages: what ranks give comes up to the first of them, and the
// outcome goes down again. 2 (n - 1) messages among n ranks, two of them for most: where many ranks
// share few cores, each is woken twice.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/weft.hpp"

namespace weft::comm {

/// Messages between two ranks arrive in the order in which they were sent. send() waits for nobody.
struct PointToPoint {
  std::function<void(int to, std::string text)> send;
  std::function<std::string(int from)> receive;
};

/// As Bootstrap::combine(), among all ranks.
std::string combine_by_tree(const PointToPoint& messages, int rank, int ranks,
                            std::string_view mine, const Bootstrap::Merge& merge);
/// As Bootstrap::gather_among().
std::vector<std::string> gather_by_tree(const PointToPoint& messages, int rank,
                                        std::span<const int> members, std::string_view mine);

}  // namespace weft::comm
