#include "comm/setup/call_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
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
  return {told + ' ' + added.key + (added.sends.empty() ? "" : " to each"),
          added.words.empty() ? told : told + ", " + added.words, added.sends, added.receives};
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

namespace {

using Described = Communicator::Described;

std::string to_text(const Described& part) {
  return std::string(reinterpret_cast<const char*>(&part.key), sizeof part.key) + part.words;
}

Described from_text(std::string_view text) {
  Described part;
  if (text.size() < sizeof part.key) throw Error("a check of another build");
  std::memcpy(&part.key, text.data(), sizeof part.key);
  part.words = text.substr(sizeof part.key);
  return part;
}

/// What each rank says that it sends to this one.
std::vector<std::string> told_by_each(Membership& members, const std::vector<Described>& mine) {
  std::vector<int> peers;
  std::vector<std::string> texts;
  for (int rank = 0; rank < members.size(); ++rank) {
    if (rank == members.rank()) continue;
    peers.push_back(rank);
    texts.push_back(to_text(mine[static_cast<std::size_t>(rank)]));
  }
  std::vector<std::string> told = members.exchange(peers, texts);
  told.insert(told.begin() + members.rank(),
              to_text(mine[static_cast<std::size_t>(members.rank())]));
  return told;
}

/// The lower of two ranks' texts, which begin with the rank's number; empty: it has none.
std::string lower_of(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::string(a.empty() ? b : a);
  return std::string(std::min(a, b));
}

/// CallError and poison on all ranks where a rank sends what its receiver does not expect: of the
/// lowest receiver, and the lowest sender to it.
void require_fitting_parts(Membership& members, const CallSignature& mine) {
  if (mine.sends.empty()) return;
  const std::vector<std::string> told = told_by_each(members, mine.sends);
  constexpr std::size_t kNumber = 10;  // digits of a rank
  const auto unfitting = [&]() -> std::string {
    for (std::size_t from = 0; from < told.size(); ++from) {
      const Described sent = from_text(told[from]);
      const Described& expected = mine.receives[from];
      if (sent.key == expected.key || sent.key == 0 || expected.key == 0) continue;
      return fmt::format("{:0{}}{}, {} to rank {} on rank {}, {} from rank {} on rank {}",
                         members.rank(), kNumber, mine.words, sent.words, members.rank(), from,
                         expected.words, from, members.rank());
    }
    return {};
  };
  const std::string found = members.vote(unfitting, lower_of);
  if (found.empty()) return;
  const std::string text = fmt::format("{}{}", engine::kDisagree, found.substr(kNumber));
  members.poison(text);
  throw CallError(text);
}

}  // namespace

void require_alike(Membership& members, const CallSignature& mine) {
  const std::string joined =
      members.vote([&] { return vote_of(members.rank(), mine); }, join_votes);
  const std::vector<Vote> votes = votes_in(joined);
  if (votes.size() < kMostCalls) return require_fitting_parts(members, mine);
  const std::string text =
      fmt::format("{}{} on rank {}, {} on rank {}", engine::kDisagree, votes[0].words,
                  votes[0].rank, votes[1].words, votes[1].rank);
  members.poison(text);
  throw CallError(text);
}

}  // namespace weft::comm
