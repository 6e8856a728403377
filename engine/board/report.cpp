#include "engine/board/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

namespace weft::engine::board {

std::vector<pid_t> with_neighbours() {
  const pid_t self = ::getpid();
  std::set<pid_t> processes{self};
  for (const SeenCommunicator& seen : look(std::span(&self, 1))) {
    for (const SeenRank& rank : seen.ranks) processes.insert(rank.process.number);
  }
  return {processes.begin(), processes.end()};
}

std::vector<Seen> find_standstills(std::span<const pid_t> processes,
                                   std::optional<std::uint64_t> communicator) {
  std::vector<Seen> all;
  for (SeenCommunicator& seen : look(processes)) {
    if (communicator && seen.number != *communicator) continue;
    Standstill found = judge(seen);
    if (!found.waiting.empty()) all.push_back({std::move(seen), std::move(found)});
  }
  std::ranges::stable_sort(all, std::greater(),
                           [](const Seen& one) { return one.standstill.since_s; });
  return all;
}

std::string report(std::span<const pid_t> processes, std::optional<std::uint64_t> communicator,
                   const std::function<std::string(pid_t)>& stack_of) {
  std::string text;
  for (const Seen& one : find_standstills(processes, communicator)) {
    text += to_text(one.communicator, one.standstill, stack_of);
  }
  return text.empty() ? "weft: no rank is in a call\n" : text;
}

}  // namespace weft::engine::board
