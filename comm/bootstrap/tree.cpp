#include "comm/bootstrap/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace weft::comm {

namespace {

// Of each rank. Few levels, and few messages one after another at each.
constexpr std::size_t kChildren = 8;

/// The positions next to `place` in a heap of so many.
struct Neighbours {
  bool has_parent;
  std::size_t parent;
  std::vector<std::size_t> children;

  Neighbours(std::size_t place, std::size_t places)
      : has_parent(place != 0), parent(place == 0 ? 0 : (place - 1) / kChildren) {
    const std::size_t first = place * kChildren + 1;
    for (std::size_t child = first; child < std::min(places, first + kChildren); ++child) {
      children.push_back(child);
    }
  }
};

struct Head {
  std::uint32_t place;
  std::uint32_t bytes;
};

void append(std::string& message, std::size_t place, std::string_view text) {
  const Head head{static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(text.size())};
  message.append(reinterpret_cast<const char*>(&head), sizeof head).append(text);
}

void read(std::string_view message, std::vector<std::string>& texts) {
  while (!message.empty()) {
    Head head;
    if (message.size() < sizeof head) throw Error("a message of a set-up ends too early");
    std::memcpy(&head, message.data(), sizeof head);
    message.remove_prefix(sizeof head);
    if (message.size() < head.bytes || head.place >= texts.size()) {
      throw Error("a message of a set-up ends too early");
    }
    texts[head.place] = message.substr(0, head.bytes);
    message.remove_prefix(head.bytes);
  }
}

}  // namespace

std::string combine_by_tree(const PointToPoint& messages, int rank, int ranks,
                            std::string_view mine, const Bootstrap::Merge& merge) {
  const Neighbours near(static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks));
  std::string all(mine);
  for (const std::size_t child : near.children) {
    all = merge(all, messages.receive(static_cast<int>(child)));
  }
  if (near.has_parent) {
    messages.send(static_cast<int>(near.parent), std::move(all));
    all = messages.receive(static_cast<int>(near.parent));
  }
  for (const std::size_t child : near.children) messages.send(static_cast<int>(child), all);
  return all;
}

std::vector<std::string> gather_by_tree(const PointToPoint& messages, int rank,
                                        std::span<const int> members, std::string_view mine) {
  const auto here = std::ranges::lower_bound(members, rank);
  if (here == members.end() || *here != rank) throw Error("a gathering without this rank");
  const Neighbours near(static_cast<std::size_t>(here - members.begin()), members.size());
  std::string all;
  append(all, static_cast<std::size_t>(here - members.begin()), mine);
  for (const std::size_t child : near.children) all += messages.receive(members[child]);
  if (near.has_parent) {
    messages.send(members[near.parent], std::move(all));
    all = messages.receive(members[near.parent]);
  }
  for (const std::size_t child : near.children) messages.send(members[child], all);
  std::vector<std::string> texts(members.size());
  read(all, texts);
  return texts;
}

}  // namespace weft::comm
