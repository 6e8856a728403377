// The algorithms that ran, as the statistics of a communicator tell: for tests that ask for one.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "weft/weft.hpp"

namespace weft::test {

/// Calls of a collective so far by this algorithm, named as weft names it.
inline std::uint64_t calls_by(const Communicator& comm, std::string_view collective,
                              std::string_view algorithm) {
  std::uint64_t calls = 0;
  for (const auto& entry : comm.statistics().entries) {
    if (entry.collective == collective && entry.algorithm == algorithm) calls += entry.calls;
  }
  return calls;
}

/// Without what alltoallv adds to its schemes: how large blocks go through stages.
inline std::string without_aggregate(std::string name) {
  const auto at = name.find("aggregate=");
  if (at == name.npos) return name;
  const auto end = name.find(',', at);
  return end == name.npos ? name.substr(0, at - 1) : name.erase(at, end + 1 - at);
}

/// "" where a collective was called and took `asked` each time, and no note says otherwise; else
/// what is wrong.
inline std::string other_than(std::string_view asked, std::string_view collective,
                              const Communicator& comm) {
  const Statistics statistics = comm.statistics();
  bool ran = false;
  for (const auto& entry : statistics.entries) {
    if (entry.collective != collective || entry.calls == 0) continue;
    const bool limited = collective == "alltoallv" && asked.find("aggregate=") == asked.npos;
    const std::string name = limited ? without_aggregate(entry.algorithm) : entry.algorithm;
    if (name != asked) return fmt::format("{} ran {}, not {}", collective, name, asked);
    ran = true;
  }
  for (const std::string& note : statistics.notes) {
    if (note.find("not taken") != note.npos) return note;
  }
  return ran ? "" : fmt::format("{} did not run", collective);
}

}  // namespace weft::test
