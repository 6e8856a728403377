#include "plan/inspect/drawing.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "plan/verify/matched.hpp"

namespace weft::plan {

namespace {

/// The ops of one rank in one round.
struct Cell {
  std::uint64_t copied_bytes = 0;
  std::uint64_t reduced_bytes = 0;
  std::vector<int> sends, recvs, signals, waits;  // peers
};

/// "1-3,5": the peers, ascending; "1x2" where one comes twice.
std::string list_peers(std::vector<int> peers) {
  std::ranges::sort(peers);
  std::string text;
  for (std::size_t i = 0; i < peers.size();) {
    std::size_t same = i;
    while (same < peers.size() && peers[same] == peers[i]) ++same;
    std::size_t end = i + 1;
    while (same == i + 1 && end < peers.size() && peers[end] == peers[end - 1] + 1 &&
           (end + 1 == peers.size() || peers[end + 1] != peers[end])) {
      ++end;
    }
    if (!text.empty()) text += ',';
    text += fmt::format("{}", peers[i]);
    if (same > i + 1) {
      text += fmt::format("x{}", same - i);
    } else if (end > i + 1) {
      text += fmt::format("{}{}", end > i + 2 ? '-' : ',', peers[end - 1]);
    }
    i = std::max(same, end);
  }
  return text;
}

std::string to_string(const Cell& cell) {
  std::string text;
  const auto add = [&](char sign, const std::string& what) {
    if (!text.empty()) text += ' ';
    text += sign + what;
  };
  if (cell.copied_bytes > 0) add('=', fmt::format("{}", cell.copied_bytes));
  if (cell.reduced_bytes > 0) add('+', fmt::format("{}", cell.reduced_bytes));
  if (!cell.signals.empty()) add('!', list_peers(cell.signals));
  if (!cell.sends.empty()) add('>', list_peers(cell.sends));
  if (!cell.waits.empty()) add('?', list_peers(cell.waits));
  if (!cell.recvs.empty()) add('<', list_peers(cell.recvs));
  return text;
}

void add(Cell& cell, const Op& op) {
  switch (op.kind) {
    case OpKind::send:
      return cell.sends.push_back(op.peer);
    case OpKind::recv:
      return cell.recvs.push_back(op.peer);
    case OpKind::signal:
      return cell.signals.push_back(op.peer);
    case OpKind::wait:
      return cell.waits.push_back(op.peer);
    case OpKind::copy:
      cell.copied_bytes += op.dst.bytes();
      return;
    case OpKind::reduce:
      cell.reduced_bytes += op.dst.bytes();
      return;
  }
}

/// The text of each cell, by round and then by rank.
std::vector<std::vector<std::string>> cells_of(const MatchedPlans& plans) {
  const auto chains = longest_chains(plans.graph, plans.ops, [](OpId) { return 1u; });
  std::vector<std::vector<Cell>> cells;
  for (OpId op = 0; op < plans.ops.size(); ++op) {
    const OpKind kind = plans.ops[op].kind;
    const bool passive = kind == OpKind::recv || kind == OpKind::wait;
    const std::size_t round = chains[start_of(passive ? plans.matching.partner[op] : op)];
    while (cells.size() <= round) cells.emplace_back(plans.ops.plans().size());
    add(cells[round][static_cast<std::size_t>(plans.ops.rank(op))], plans.ops[op]);
  }
  std::vector<std::vector<std::string>> texts;
  for (const auto& round : cells) {
    auto& column = texts.emplace_back();
    for (const Cell& cell : round) column.push_back(to_string(cell));
  }
  return texts;
}

/// Columns that fit side by side, from `first` on: one at least. Returns the one behind the last.
std::size_t end_of_band(const std::vector<std::size_t>& widths, std::size_t first,
                        std::size_t room) {
  std::size_t last = first + 1;
  for (std::size_t width = widths[first]; last < widths.size(); ++last) {
    width += widths[last];
    if (width > room) break;
  }
  return last;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::string draw(std::span<const int> node_of_rank, std::span<const Plan> plans, int only,
                 std::size_t columns) {
  if (only < -1 || only >= static_cast<int>(plans.size())) {
    throw_usage("no drawing of rank {}: there are {} ranks", only, plans.size());
  }
  const auto cells = cells_of(MatchedPlans("drawing", node_of_rank, plans));
  std::vector<std::size_t> rows;  // ranks, by node
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (only == -1 || rank == static_cast<std::size_t>(only)) rows.push_back(rank);
  }
  std::ranges::stable_sort(rows, {}, [&](std::size_t rank) { return node_of_rank[rank]; });
  std::vector<std::size_t> widths;
  for (std::size_t round = 0; round < cells.size(); ++round) {
    std::size_t width = fmt::formatted_size("round {}", round);
    for (const std::size_t row : rows) width = std::max(width, cells[round][row].size());
    widths.push_back(width + 2);
  }
  constexpr std::size_t kMargin = 8;
  std::string text;
  for (std::size_t first = 0, last = 0; first < cells.size(); first = last) {
    last = end_of_band(widths, first, columns - std::min(columns, kMargin));
    text.append(kMargin, ' ');
    for (std::size_t round = first; round < last; ++round) {
      text += fmt::format("{:<{}}", fmt::format("round {}", round), widths[round]);
    }
    end_line(text);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || node_of_rank[rows[i]] != node_of_rank[rows[i - 1]]) {
        text += fmt::format("node {}\n", node_of_rank[rows[i]]);
      }
      text += fmt::format("{:>{}}  ", rows[i], kMargin - 2);
      for (std::size_t round = first; round < last; ++round) {
        text += fmt::format("{:<{}}", cells[round][rows[i]], widths[round]);
      }
      end_line(text);
    }
  }
  return text + "= bytes copied  + bytes reduced  ! signal  > send  ? wait  < recv\n";
}

}  // namespace weft::plan
