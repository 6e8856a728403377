#include "mpi/world/meetings.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <string>
#include <vector>

#include "engine/node/doorbell.hpp"

namespace weft::mpi {

namespace {

// Mixed into the number of the communicator, whose other messages are those of its set-up.
constexpr std::uint64_t kOfMeetings = 0x6d65'6574'696e'6773;

// Messages that nobody has taken, of meetings that failed, may come before those of this one.
std::string coming(std::uint64_t number) {
  return fmt::format("here {}", number);
}
std::string answer(std::uint64_t number, bool all) {
  return fmt::format("{} {}", all ? "all" : "some", number);
}

}  // namespace

bool Meetings::hold(Post& post, std::span<const int> members, int root, std::uint64_t context,
                    std::int64_t patience_ns) {
  ++held_;
  context ^= kOfMeetings;
  const bool have_all_come =
      root == post.rank() ? await(post, members, context, patience_ns) : ask(post, root, context);
  have_all_come ? pause_.end() : pause_.grow();
  return have_all_come;
}

/// Of any rank but the root.
bool Meetings::ask(Post& post, int root, std::uint64_t context) const {
  const Post::Sending sending = post.send(root, context, coming(held_));
  while (true) {
    const std::string text = post.receive(root, context);
    if (text == answer(held_, true)) return true;
    if (text == answer(held_, false)) return false;
  }
}

/// Of the root.
bool Meetings::await(Post& post, std::span<const int> members, std::uint64_t context,
                     std::int64_t patience_ns) const {
  std::vector<int> missing(members.begin(), members.end());
  std::erase(missing, post.rank());
  const std::vector<int> others = missing;
  const std::string expected = coming(held_);
  const auto has_come = [&](int rank) {
    std::string text;
    while (post.receive_if_there(rank, context, text)) {
      if (text == expected) return true;
    }
    return false;
  };
  const std::int64_t deadline_ns = engine::now_ns() + patience_ns;
  do {
    std::erase_if(missing, has_come);
    if (missing.empty()) break;
    ::sched_yield();
  } while (engine::now_ns() < deadline_ns);
  const std::string text = answer(held_, missing.empty());
  std::vector<Post::Sending> sendings;
  for (const int rank : others) sendings.push_back(post.send(rank, context, text));
  return missing.empty();
}

}  // namespace weft::mpi
