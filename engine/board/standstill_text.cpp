// Text of a standstill.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/board/standstill.hpp"

namespace weft::engine::board {

namespace {

std::string named(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", list_of(ranks));
}

std::string_view state_name(char state) {
  switch (state) {
    case 'R':
      return "running (R)";
    case 'S':
      return "asleep (S)";
    case 'D':
      return "in the kernel (D)";
    case 'T':
    case 't':
      return "stopped (T)";
    case 'Z':
      return "ended, not reaped (Z)";
    case 'X':
      return "ended";
    case 'I':
      return "idle (I)";
    default:
      return "in a state that is not known";
  }
}

const SeenRank& rank_in(const SeenCommunicator& seen, int rank) {
  return *std::ranges::find(seen.ranks, rank, &SeenRank::rank);
}

/// What has been seen of a rank that is missing, but for numbers that differ from rank to rank.
std::string where(const SeenRank& rank) {
  if (!rank.elsewhere.empty()) return "in " + rank.elsewhere;
  if (rank.phase == Phase::failed) return "its communicator has failed";
  const SeenCall* last = rank.last();
  if (last == nullptr) return "has made no call";
  if (last->is_under_way()) return "in " + describe(*last);
  return "has come out of " + describe(*last);
}

std::string process_of(const SeenRank& rank) {
  const bool is_here = rank.process.number != 0;
  std::string text =
      is_here ? fmt::format("process {}", rank.process.number) : std::string("on another node");
  if (rank.used_s) {
    text += fmt::format(", {:.2f} s of CPU in the last {:.1f} s", *rank.used_s, rank.missed_s);
  } else if (is_here && !rank.process.is_dead()) {
    text += fmt::format(", {:.2f} s of CPU in all", rank.process.cpu_s);
  }
  if (const SeenCall* last = rank.last(); last != nullptr && last->ended_s) {
    text += fmt::format(", outside of weft for {:.1f} s", *last->ended_s);
  }
  return text;
}

/// Lines about ranks, those with the same to be said in one.
void add_ranks(const SeenCommunicator& seen, const std::vector<int>& ranks, std::string_view title,
               const std::function<std::string(pid_t)>& stack_of, std::string& text) {
  std::map<std::string, std::vector<int>> groups;
  for (const int one : ranks) {
    const SeenRank& rank = rank_in(seen, one);
    groups[fmt::format("{}; {}", state_name(rank.process.state), where(rank))].push_back(one);
  }
  constexpr std::size_t kShown = 4;
  for (const auto& [about, members] : groups) {
    text += fmt::format("weft:   {}: {}: {}\n", title, named(members), about);
    for (std::size_t i = 0; i < std::min(members.size(), kShown); ++i) {
      const SeenRank& rank = rank_in(seen, members[i]);
      text += fmt::format("weft:     rank {}: {}\n", members[i], process_of(rank));
    }
    if (members.size() > kShown) {
      text += fmt::format("weft:     and {} more\n", members.size() - kShown);
    }
    // One for the group: what ranks with one history are in is mostly the same.
    if (stack_of) text += stack_of(rank_in(seen, members.front()).process.number);
  }
}

void add_different(const Standstill& found, std::string& text) {
  if (found.different.empty()) return;
  const Group& most = found.different.front();
  for (std::size_t i = 1; i < found.different.size(); ++i) {
    const Group& group = found.different[i];
    text += fmt::format("weft:   another call: {} made {}, where {} made {}\n", named(group.ranks),
                        describe(group.call), named(most.ranks), describe(most.call));
  }
  text += found.last_common
              ? fmt::format("weft:   the last call in common: {}\n", describe(*found.last_common))
              : "weft:   no call in common is known\n";
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Queue pairs and ring.
std::string describe(const Link& link) {
  std::string text;
  if (link.queue_pairs != 0) {
    text = fmt::format(": {} of {} ready, {} not complete, made anew {}, ", link.ready,
                       counted(link.queue_pairs, "queue pair"), counted(link.requests, "request"),
                       counted(link.reconnections, "time"));
  } else {
    text = ": ";
  }
  return text + counted(link.slots, "slot") + " of the ring written and not known to be read";
}

std::string describe(const SeenWait& wait, int from, int to, const std::string& algorithm) {
  std::string text;
  const std::string by = algorithm.empty() ? "" : fmt::format(" of {}", algorithm);
  switch (wait.kind) {
    case WaitKind::signal:
      text = fmt::format("rank {} waits for a signal from rank {}, op {}{}", from, to, wait.op, by);
      break;
    case WaitKind::send:
      text = fmt::format("rank {} waits for rank {} to take {} bytes, op {}{}", from, to,
                         wait.bytes, wait.op, by);
      break;
    case WaitKind::recv:
      text = fmt::format("rank {} waits for {} bytes from rank {}, op {}{}", from, wait.bytes, to,
                         wait.op, by);
      break;
    case WaitKind::entry:
      return fmt::format("rank {} waits for rank {} to end an earlier call, whose memory it needs",
                         from, to);
  }
  if (wait.kind != WaitKind::signal) {
    text += fmt::format(" ({} have moved; {}{})", wait.moved,
                        !wait.over_device ? "by shared memory"
                        : wait.broken     ? "by the device, whose connection is broken"
                                          : "by the device, whose connection is whole",
                        wait.link ? describe(*wait.link) : "");
  }
  return text;
}

std::string about_target(const Edge& edge, const Standstill& found) {
  switch (edge.target) {
    case Edge::Target::absent:
      return fmt::format("rank {} has not entered the call", edge.to);
    case Edge::Target::dead:
      return fmt::format("rank {} has ended", edge.to);
    case Edge::Target::stopped:
      return fmt::format("rank {} is stopped", edge.to);
    case Edge::Target::gone_on:
      return fmt::format(
          "rank {} has left the call{}", edge.to,
          found.different.empty() ? ", so what it sent is lost" : ", or made another one");
    case Edge::Target::busy:
      return fmt::format("rank {} is in the call and waits for nobody", edge.to);
    case Edge::Target::in_turn:
      return fmt::format("rank {} waits for rank {} in turn", edge.to, edge.from);
    case Edge::Target::unknown:
      break;
  }
  return fmt::format("of rank {} nothing is known here", edge.to);
}

void add_edge(const SeenCommunicator& seen, const Standstill& found, std::string& text) {
  if (!found.edge) return;
  const Edge& edge = *found.edge;
  const SeenRank& from = rank_in(seen, edge.from);
  const SeenCall* last = from.last();
  text += "weft:   blocked at: ";
  text += edge.wait
              ? describe(*edge.wait, edge.from, edge.to, last == nullptr ? "" : last->algorithm)
              : fmt::format("rank {} waits for rank {} to set the call up", edge.from, edge.to);
  text += "; " + about_target(edge, found);
  if (edge.dependents == 1) {
    text += fmt::format("; 1 other waits for rank {}, too, directly or not", edge.to);
  } else if (edge.dependents > 1) {
    const bool all = edge.dependents == found.size - 2;
    text += fmt::format("; {}{} others wait for rank {}, too, directly or not", all ? "all " : "",
                        edge.dependents, edge.to);
  }
  text += '\n';
}

}  // namespace

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string describe(const SeenCall& call) {
  std::string text = fmt::format("{} of {} bytes", to_string(call.collective), call.bytes);
  if (is_rooted(call.collective)) text += fmt::format(" with root {}", call.root);
  text += fmt::format(" (call {}", call.number);
  if (!call.algorithm.empty()) text += fmt::format(", by {}", call.algorithm);
  if (!call.operation.empty()) text += fmt::format(", {}", call.operation);
  return text + ")";
}

std::string to_text(const SeenCommunicator& seen, const Standstill& found,
                    const std::function<std::string(pid_t)>& stack_of) {
  std::string text =
      fmt::format("weft: communicator {:08x} of {} ranks: ", found.communicator >> 32, found.size);
  if (found.waiting.empty() || !found.call) return text + "no rank is in a call\n";
  text += fmt::format("{} in {}{} for {:.1f} s\n", named(found.waiting),
                      found.is_setup ? "the set-up of " : "", describe(*found.call), found.since_s);
  add_different(found, text);
  add_ranks(seen, found.absent, "not arrived", stack_of, text);
  add_ranks(seen, found.dead, "dead", {}, text);
  add_ranks(seen, found.stopped, "stopped", {}, text);
  if (!found.unknown.empty()) {
    text += fmt::format("weft:   not known here: {}\n", named(found.unknown));
  }
  add_edge(seen, found, text);
  return text;
}

}  // namespace weft::engine::board
