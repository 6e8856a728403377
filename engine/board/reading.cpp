#include "engine/board/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/board/board_files.hpp"
#include "engine/board/whereabouts.hpp"

namespace weft::engine::board {

namespace {

void unpack(std::uint64_t what, const Posting& posting, SeenCall& call) {
  const auto collective = static_cast<std::uint8_t>(what);
  const auto all = plan::all_collectives();
  if (collective < all.size()) call.collective = static_cast<plan::Collective>(collective);
  call.root = static_cast<int>(what >> 32);
  const std::size_t name = (what >> 16) & 0xffff;
  if (name == 0 || name >= kNames) return;
  const auto& text = posting.names[name];
  call.algorithm.assign(text.data(), ::strnlen(text.data(), text.size()));
}

std::vector<SeenCall> calls_of(const Posting& posting, const Ages& ages) {
  std::vector<SeenCall> calls;
  for (std::size_t slot = 0; slot < kCalls; ++slot) {
    const Call& from = posting.calls[slot];
    const std::uint64_t tag = value(from.tag);
    SeenCall call;
    call.number = static_cast<std::uint32_t>(tag >> 32);
    call.digest = static_cast<std::uint32_t>(tag);
    if (call.number == 0 || call.number % kCalls != slot) continue;
    unpack(value(from.what), posting, call);
    call.bytes = value(from.bytes);
    call.began_s = ages.of(value(from.began));
    if (const std::uint64_t ended = value(from.ended)) call.ended_s = ages.of(ended);
    calls.push_back(std::move(call));
  }
  std::ranges::sort(calls, {}, &SeenCall::number);
  // What is older by a lap and more was not written over yet: a call is missing between.
  while (calls.size() > 1 && calls.back().number - calls.front().number >= kCalls) {
    calls.erase(calls.begin());
  }
  return calls;
}

void read_waits(const Posting& posting, const Ages& ages, SeenRank& rank) {
  const auto number = static_cast<std::uint32_t>(value(posting.waiting_tag) >> 32);
  const auto call = std::ranges::find(rank.calls, number, &SeenCall::number);
  if (call == rank.calls.end() || !call->is_under_way()) return;
  const std::uint32_t count = posting.waits.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(count, kWaits); ++i) {
    const Wait& from = posting.waiting[i];
    const std::uint64_t what = value(from.what);
    SeenWait wait;
    wait.kind = static_cast<WaitKind>(what & 3);
    wait.over_device = (what & kOverDevice) != 0;
    wait.broken = (what & kBroken) != 0;
    wait.op = static_cast<std::uint32_t>(what >> 32);
    wait.peer = static_cast<int>(value(from.peer));
    wait.bytes = value(from.bytes);
    wait.moved = value(from.moved);
    if (wait.kind == WaitKind::send || wait.kind == WaitKind::recv) {
      wait.link = Link::of(value(from.link));
    }
    rank.waits.push_back(wait);
  }
  const auto& operation = posting.operation;
  call->operation.assign(operation.data(), ::strnlen(operation.data(), operation.size()));
  rank.looked_s = ages.of(value(posting.looked));
}

struct ReadPosting {
  std::uint64_t communicator = 0;
  int size = 0;
  SeenRank rank;
  struct Neighbour {
    int rank;
    ProcessId process;
    double cpu_s;
  };
  std::vector<Neighbour> neighbours;
  std::vector<SeenRank> elsewhere;  // of other nodes, as they have answered
  double looked_at_cpu_s = 0;       // age
  bool has_looked_at_cpu = false;
};

/// `process`: whose board it is.
ReadPosting read_posting(const Posting& posting, std::span<const std::byte> whole,
                         std::span<const std::byte> board, const Ages& ages, pid_t process) {
  ReadPosting read;
  read.communicator = value(posting.communicator);
  read.size = posting.size.load();
  SeenRank& rank = read.rank;
  rank.rank = posting.rank.load();
  rank.node = posting.node.load();
  rank.has_posting = true;
  rank.process.number = process;
  rank.phase = static_cast<Phase>(std::min<std::uint32_t>(posting.phase.load(), 2));
  rank.phase_s = ages.of(value(posting.phase_since));
  if (rank.phase == Phase::setting_up) {
    SeenCall setup;
    unpack(value(posting.setup_what), posting, setup);
    setup.bytes = value(posting.setup_bytes);
    setup.began_s = rank.phase_s;
    rank.setup = std::move(setup);
  }
  rank.calls = calls_of(posting, ages);
  read_waits(posting, ages, rank);
  const std::uint64_t looked = value(posting.looked_at_cpu);
  read.has_looked_at_cpu = looked != 0;
  read.looked_at_cpu_s = ages.of(looked);
  const std::uint32_t answers = posting.answers.load(std::memory_order_acquire);
  const std::uint64_t at = value(posting.answers_at);
  if (answers != 0 && at % kAlignment == 0 && at + sizeof(Answers) <= board.size()) {
    const auto& area = *reinterpret_cast<const Answers*>(board.data() + at);
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(answers, kAnswers); ++i) {
      auto other = rank_from(area.texts[i], read.communicator);
      if (other) read.elsewhere.push_back(std::move(*other));
    }
  }
  const auto members = static_cast<std::size_t>(std::max(posting.members.load(), 0));
  const auto room = (whole.size() - sizeof(Posting)) / sizeof(Member);
  const auto* member = reinterpret_cast<const Member*>(whole.data() + sizeof(Posting));
  // Seen from another PID namespace a neighbour's number is not its own in any case.
  const bool has_same_numbers = reinterpret_cast<const Header*>(board.data())->process == process;
  for (std::size_t i = 0; i < std::min(members, room); ++i) {
    const ProcessId neighbour{member[i].process.load(),
                              has_same_numbers ? value(member[i].start) : 0,
                              value(member[i].clock)};
    read.neighbours.push_back(
        {member[i].rank.load(), neighbour, static_cast<double>(value(member[i].cpu_ns)) * 1e-9});
  }
  return read;
}

std::string described_elsewhere(const ReadPosting& other) {
  const SeenCall* last = other.rank.last();
  const SeenCall* call = other.rank.setup                          ? &*other.rank.setup
                         : last != nullptr && last->is_under_way() ? last
                                                                   : nullptr;
  if (call == nullptr) return {};
  return fmt::format("{} of {} bytes on communicator {:08x}, for {:.1f} s",
                     to_string(call->collective), call->bytes, other.communicator >> 32,
                     call->began_s);
}

std::vector<ReadPosting> read_postings(std::span<const pid_t> processes) {
  std::vector<ReadPosting> all;
  for (const pid_t process : processes) {
    for (const std::string& path : boards_of(process)) {
      const Content content = stable_content(path);
      for_each_posting(
          content.bytes(), process,
          [&](const Posting& posting, auto whole, std::size_t, const Ages& ages) {
            all.push_back(read_posting(posting, whole, content.bytes(), ages, process));
          });
    }
  }
  return all;
}

/// What the rank of `read` is in on another communicator, where that is known.
std::string elsewhere_of(const ReadPosting& read, std::span<const ReadPosting> all) {
  std::string elsewhere;
  for (const ReadPosting& other : all) {
    // Ranks that are threads have the process in common: which of them is meant is not known.
    if (&other == &read || other.rank.process.number != read.rank.process.number) continue;
    if (other.communicator == read.communicator) return {};
    if (elsewhere.empty()) elsewhere = described_elsewhere(other);
  }
  return elsewhere;
}

/// Communicators by their numbers, put together from postings: first of the ranks themselves, then
/// what their neighbours know, then what was heard of other nodes.
class Gathered {
 public:
  void add_own(const ReadPosting& read, std::span<const ReadPosting> all) {
    sizes_[read.communicator] = read.size;
    SeenRank& rank = ranks_[read.communicator][read.rank.rank];
    rank = read.rank;
    rank.process = state_of({.number = read.rank.process.number});
    rank.elsewhere = elsewhere_of(read, all);
  }

  void add_neighbours(const ReadPosting& read) {
    for (const auto& neighbour : read.neighbours) {
      auto [at, is_new] = ranks_[read.communicator].try_emplace(neighbour.rank);
      SeenRank& rank = at->second;
      if (is_new) {
        rank.rank = neighbour.rank;
        rank.node = read.rank.node;
        rank.process = state_of(neighbour.process);
      }
      if (!read.has_looked_at_cpu || rank.process.is_dead()) continue;
      if (rank.used_s && rank.missed_s >= read.looked_at_cpu_s) continue;
      rank.used_s = std::max(0.0, rank.process.cpu_s - neighbour.cpu_s);
      rank.missed_s = read.looked_at_cpu_s;
    }
  }

  /// What a node tells of itself is later than what others have heard.
  void add_heard(ReadPosting& read) {
    for (SeenRank& one : read.elsewhere) {
      ranks_[read.communicator].try_emplace(one.rank, std::move(one));
    }
  }

  std::vector<SeenCommunicator> take() {
    std::vector<SeenCommunicator> result;
    for (auto& [number, known] : ranks_) {
      SeenCommunicator seen{number, sizes_[number], {}};
      for (auto& [rank, one] : known) {
        if (rank >= 0 && rank < seen.size) seen.ranks.push_back(std::move(one));
      }
      result.push_back(std::move(seen));
    }
    return result;
  }

 private:
  SeenProcess state_of(const ProcessId& process) {
    const auto found = states_.find(process);
    return found != states_.end() ? found->second : states_[process] = process_state(process);
  }

  std::map<std::uint64_t, std::map<int, SeenRank>> ranks_;
  std::map<std::uint64_t, int> sizes_;
  std::map<ProcessId, SeenProcess> states_;
};

}  // namespace

std::vector<SeenCommunicator> look(std::span<const pid_t> processes) {
  std::vector<ReadPosting> all = read_postings(processes);
  Gathered gathered;
  for (const ReadPosting& read : all) gathered.add_own(read, all);
  for (const ReadPosting& read : all) gathered.add_neighbours(read);
  for (ReadPosting& read : all) gathered.add_heard(read);
  return gathered.take();
}

}  // namespace weft::engine::board
