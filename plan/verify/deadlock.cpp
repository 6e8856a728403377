#include <algorithm>

#include <fmt/format.h>

#include "plan/text.hpp"
#include "plan/verify/checks.hpp"

namespace weft::plan {

std::string describe_cycle(const OpTable& ops, std::span<const Event> cycle) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    // An op whose two events follow each other is mentioned once.
    const OpId op = op_of(cycle[i]);
    if (i > 0 && op_of(cycle[i - 1]) == op) continue;
    if (i > 0) text += ", before ";
    text += fmt::format("rank {} op {} ({})", ops.rank(op), ops.id(op), to_string(ops[op]));
  }
  if (cycle.size() > kShown) text += fmt::format(", and {} more events", cycle.size() - kShown);
  return text + ", before the first again";
}

void check_deadlock(const OpTable& ops, const Matching& matching,
                    std::span<const Buffering> bufferings, Findings& findings) {
  // A channel that holds b messages orders no more than one that holds fewer: the start of a recv
  // comes before the completion of its own send, and so of later ones, as recvs start in order.
  // Rendezvous is a channel that holds none. So none deadlocks when the tightest does not.
  std::vector<std::uint64_t> capacities;
  for (const Buffering& buffering : bufferings) {
    capacities.push_back(buffering.rendezvous ? 0 : buffering.eager_messages);
  }
  std::ranges::sort(capacities);
  for (const std::uint64_t capacity : capacities) {
    const EventGraph graph(ops, matching, capacity);
    if (graph.cycle().empty()) return;
    const OpId op = op_of(graph.cycle().front());
    const std::string channel =
        capacity == 0 ? "under rendezvous" : fmt::format("with {} eager messages", capacity);
    findings.add(Flaw::deadlock, ops.rank(op), ops.id(op),
                 fmt::format("{}: {}", channel, describe_cycle(ops, graph.cycle())));
  }
}

}  // namespace weft::plan
