#include "comm/setup/call_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.hpp"

namespace weft::comm {

namespace {

// No key or words have these.
constexpr char kField = '\x1f';
constexpr char kCall = '\x1e';
// Of a joined vote: the call of the lowest rank, and one that differs from it.
constexpr std::size_t kMostCalls = 2;

struct Vote {
  int rank = 0;
  std::string_view key;
  std::string_view words;
};

std::vector<Vote> votes_in(std::string_view text) {
  std::vector<Vote> votes;
  while (!text.empty()) {
    const auto call = text.substr(0, text.find(kCall));
    text.remove_prefix(std::min(call.size() + 1, text.size()));
    const auto first = call.find(kField);
    const auto second = call.find(kField, first + 1);
    if (second == std::string_view::npos) throw Error("a check of another build");
    Vote vote;
    std::from_chars(call.data(), call.data() + first, vote.rank);
    vote.key = call.substr(first + 1, second - first - 1);
    vote.words = call.substr(second + 1);
    votes.push_back(vote);
  }
  return votes;
}

}  // namespace

CallSignature signature_of(const Task& task, const CallSignature& added) {
  const bool own_parts = task.irregular || task.problem.collective == plan::Collective::alltoallv;
  plan::Problem shared = task.problem;
  // Ranks may call in place each for itself where weft copies aside.
  const std::string told = own_parts ? describe_irregular(shared) : describe(shared);
  return {told + ' ' + added.key, added.words.empty() ? told : told + ", " + added.words};
}

std::string vote_of(int rank, const CallSignature& mine) {
  return fmt::format("{}{}{}{}{}", rank, kField, mine.key, kField, mine.words);
}

/// The lowest ranks of each call stay: what is left out has two others below it, and will have.
std::string join_votes(std::string_view a, std::string_view b) {
  std::vector<Vote> all = votes_in(a);
  const std::vector<Vote> more = votes_in(b);
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all, {}, &Vote::rank);
  std::string joined;
  std::vector<std::string_view> keys;
  for (const Vote& vote : all) {
    if (keys.size() == kMostCalls || std::ranges::find(keys, vote.key) != keys.end()) continue;
    keys.push_back(vote.key);
    if (!joined.empty()) joined += kCall;
    joined += fmt::format("{}{}{}{}{}", vote.rank, kField, vote.key, kField, vote.words);
  }
  return joined;
}

void require_alike(Membership& members, const CallSignature& mine) {
  const std::string joined =
      members.vote([&] { return vote_of(members.rank(), mine); }, join_votes);
  const std::vector<Vote> votes = votes_in(joined);
  if (votes.size() < kMostCalls) return;
  const std::string text =
      fmt::format("{}{} on rank {}, {} on rank {}", engine::kDisagree, votes[0].words,
                  votes[0].rank, votes[1].words, votes[1].rank);
  members.poison(text);
  throw CallError(text);
}

}  // namespace weft::comm
