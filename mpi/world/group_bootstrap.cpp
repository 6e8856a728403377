#include "mpi/world/group_bootstrap.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace weft::mpi {

namespace {

void append(std::string& message, std::string_view text) {
  const std::uint64_t bytes = text.size();
  message.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(text);
}

/// The texts that append() wrote, behind those in `texts`.
void split(std::string_view message, std::vector<std::string>& texts) {
  while (!message.empty()) {
    std::uint64_t bytes = 0;
    if (message.size() < sizeof bytes) throw Error("a message of a set-up ends too early");
    std::memcpy(&bytes, message.data(), sizeof bytes);
    message.remove_prefix(sizeof bytes);
    if (message.size() < bytes) throw Error("a message of a set-up ends too early");
    texts.emplace_back(message.substr(0, bytes));
    message.remove_prefix(bytes);
  }
}

}  // namespace

GroupBootstrap::GroupBootstrap(Post& post, std::vector<int> members, std::uint64_t context)
    : post_(post), members_(std::move(members)), context_(context) {
  const auto here = std::ranges::find(members_, post_.rank());
  if (here == members_.end()) throw Error("a bootstrap of a group without this rank");
  rank_ = static_cast<int>(here - members_.begin());
}

std::vector<std::string> GroupBootstrap::allgather(std::string_view mine) {
  const std::size_t count = members_.size();
  const auto self = static_cast<std::size_t>(rank_);
  std::vector<std::string> texts{std::string(mine)};  // of this rank and those behind it
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    const std::size_t share = std::min(distance, count - distance);
    std::string message;
    for (std::size_t i = 0; i < share; ++i) append(message, texts[i]);
    const auto sending = post_.send(members_[(self + count - distance) % count], context_, message);
    split(post_.receive(members_[(self + distance) % count], context_), texts);
  }
  if (texts.size() != count) throw Error("a message of a set-up has too few texts");
  std::ranges::rotate(texts, texts.end() - static_cast<std::ptrdiff_t>(self));
  return texts;
}

std::vector<std::string> GroupBootstrap::exchange(std::span<const int> peers,
                                                  std::span<const std::string> mine) {
  std::vector<Post::Sending> sendings;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    sendings.push_back(post_.send(members_[static_cast<std::size_t>(peers[i])], context_, mine[i]));
  }
  std::vector<std::string> result;
  for (const int peer : peers) {
    result.push_back(post_.receive(members_[static_cast<std::size_t>(peer)], context_));
  }
  return result;
}

}  // namespace weft::mpi
