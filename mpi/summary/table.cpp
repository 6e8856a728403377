#include <algorithm>

#include <fmt/format.h>

#include "mpi/summary/grid.hpp"

namespace weft::mpi {

namespace {

std::string joined(const std::vector<std::string>& texts, std::string_view none) {
  return texts.empty() ? std::string(none) : fmt::format("{}", fmt::join(texts, ", "));
}

std::string plural(int count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string head(const Summary& summary) {
  std::string text = fmt::format("weft: {} on {} ({}), {}", plural(summary.ranks, "rank"),
                                 plural(summary.nodes, "node"), summary.machine, summary.host);
  if (!summary.by_rank.empty()) {
    text += fmt::format("; {}, {} % of it in collectives", seconds_text(summary.seconds()),
                        share_text(total_in_collectives(summary), total_run(summary)));
  }
  text += "\n";
  if (!summary.complete) {
    text += fmt::format("  The job was ended: of {} alone, what was over by then\n",
                        plural(static_cast<int>(summary.by_rank.size()), "rank"));
  }
  return text;
}

std::string more(std::size_t all, std::size_t shown) {
  return all <= shown ? "" : fmt::format("  and {} more that took less time\n", all - shown);
}

/// By collective and reason, as sizes and communicators of what weft does not serve tell little.
std::string passed_lines(const Summary& summary) {
  std::string text;
  std::vector<PassedCalls> all;
  for (const PassedCalls& calls : summary.passed) {
    const auto same = std::ranges::find_if(all, [&](const PassedCalls& other) {
      return other.collective == calls.collective && other.why == calls.why;
    });
    if (same == all.end()) {
      all.push_back(calls);
    } else {
      same->calls += calls.calls;
      same->seconds.most += calls.seconds.most;
    }
  }
  for (const PassedCalls& calls : all) {
    const std::string time =
        calls.seconds.most == 0 ? "" : fmt::format(", {}", seconds_text(calls.seconds.most));
    text += fmt::format("  passed through: {} {} ({}){}\n", calls.collective, calls.calls,
                        calls.why, time);
  }
  return text;
}

}  // namespace

std::string to_table(const Summary& summary, std::size_t most_lines) {
  std::string text = head(summary);
  if (!summary.served.empty()) {
    text += grid_of_served(summary, most_lines).to_text();
    text += more(summary.served.size(), most_lines);
  }
  text += passed_lines(summary);
  if (summary.served.empty() && summary.passed.empty()) {
    text += "  no collective was called\n";
  } else {
    text += grid_of_ranks(summary).to_text();
  }
  text += fmt::format(
      "  device: {}; algorithms chosen by {}; inside a node: {}; waiting: {}; most on one rank: {} "
      "connections, {} reconnections, {} bytes staged, {} bytes registered, {} buffers registered "
      "and {} found so\n",
      joined(summary.devices, "none needed"), joined(summary.profiles, "fixed rules"),
      joined(summary.views, "nothing"), joined(summary.waiting, "never"), summary.connections,
      summary.reconnections, summary.stage_bytes, summary.channel_bytes, summary.registrations,
      summary.registration_hits);
  if (summary.heap_bytes + summary.xpmem_bytes != 0) {
    text += fmt::format("  of peers: {} bytes copied in shared heaps, {} by xpmem, {} by cma\n",
                        summary.heap_bytes, summary.xpmem_bytes, summary.cma_bytes);
  }
  for (const std::string& note : summary.notes) text += fmt::format("  {}\n", note);
  return text;
}

}  // namespace weft::mpi
