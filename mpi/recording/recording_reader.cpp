#include "base/error.hpp"
#include "mpi/recording/bytes.hpp"
#include "mpi/recording/format.hpp"
#include "mpi/recording/recording.hpp"

namespace weft::mpi {

namespace {

using namespace recording_format;

void check_members(ByteReader& from, const RecordedCommunicator& one, std::uint32_t world) {
  std::uint64_t all = 0;
  for (const RankRun& run : one.members) {
    all += run.count;
    if (run.first + std::uint64_t{run.stride} * (run.count - 1) >= world) {
      from.refuse(fmt::format("a communicator has ranks above {}", world - 1));
    }
  }
  if (!one.members.empty() && all != one.ranks) {
    from.refuse(fmt::format("a communicator of {} ranks names {}", one.ranks, all));
  }
}

RecordedCommunicator read_communicator(ByteReader& from, std::uint32_t world) {
  RecordedCommunicator one;
  one.two_groups = from.number("flags of a communicator", kTwoGroups) != 0;
  one.context = from.number("the context of a communicator");
  one.digest = from.number("the digest of a communicator");
  one.ranks = from.small("the ranks of a communicator", Recording::kMostRanks);
  if (one.ranks == 0) from.refuse("a communicator of no rank");
  one.rank = from.small("the rank in a communicator", one.ranks - 1);
  one.nodes = from.small("the nodes of a communicator", one.ranks);
  const auto runs =
      from.number("the runs of members of a communicator", RecordedCommunicator::kMostRuns);
  for (std::uint64_t i = 0; i < runs; ++i) {
    RankRun run;
    run.first = from.small("the first of a run of ranks", world - 1);
    run.stride = from.small("the stride of a run of ranks", world);
    run.count = from.small("a run of ranks", one.ranks);
    if (run.count == 0) from.refuse("a run of no ranks");
    one.members.push_back(run);
  }
  check_members(from, one, world);
  return one;
}

RecordedKind read_kind(ByteReader& from, const std::vector<RecordedCommunicator>& communicators) {
  RecordedKind one;
  if (communicators.empty()) from.refuse("a kind of calls without a communicator");
  one.communicator = from.small("the communicator of a kind", communicators.size() - 1);
  one.collective = static_cast<plan::Collective>(
      from.number("the collective of a kind", plan::all_collectives().size() - 1));
  const std::uint64_t flags = from.number("flags of a kind", kAllFlags);
  one.request = (flags & kRequest) != 0;
  one.served = (flags & kServed) != 0;
  one.irregular = (flags & kIrregular) != 0;
  one.sized = (flags & kSized) != 0;
  one.neighbours = (flags & kNeighbours) != 0;
  one.commutative = (flags & kCommutative) != 0;
  one.associative = (flags & kAssociative) != 0;
  one.element_bytes = from.small("the bytes of an element", std::uint64_t{1} << 30);
  if (one.element_bytes == 0) from.refuse("elements of no bytes");
  const RecordedCommunicator& in = communicators[one.communicator];
  // Of two groups the root is a rank of either.
  const std::uint64_t most = in.two_groups ? Recording::kMostRanks : in.ranks - 1;
  one.root = from.small("the root of a kind", most);
  one.bytes = from.number("the bytes of a kind", std::uint64_t{1} << 60);
  return one;
}

/// Puts blocks together.
class Reader {
 public:
  Reader(std::string_view where, Recording& into, std::map<std::uint32_t, RankRecording>& parts)
      : where_(where), into_(into), parts_(parts) {}

  void read(std::string_view bytes, bool may_be_cut) {
    if (!bytes.starts_with(kMagic)) throw_usage("{}: no recording of weft", where_);
    ByteReader from(where_, bytes);
    from.take("the head", kMagic.size());
    const auto version = from.number("the version");
    if (version != Recording::kVersion) {
      throw_usage("{}: a recording of version {}; this weft reads version {}", where_, version,
                  Recording::kVersion);
    }
    while (!from.is_at_end()) {
      if (may_be_cut && is_cut(from)) return;
      const std::size_t size = from.count("the size of a block", 1);
      const std::size_t place = from.place();
      const std::string_view block = from.take("a block", size);
      if (from.word("the checksum of a block") != checksum(block)) {
        throw_usage("{}: at byte {}: a block is damaged (its checksum is another)", where_, place);
      }
      read_block(ByteReader(where_, block, place));
    }
  }

 private:
  /// Whether the next block goes on behind the end of the file.
  static bool is_cut(ByteReader from) {
    try {
      const std::size_t size = from.count("the size of a block", 1);
      return from.left() < size + 4;
    } catch (const UsageError&) {
      return true;
    }
  }

  void read_block(ByteReader from) {
    const auto ranks = from.small("the number of ranks", Recording::kMostRanks);
    if (ranks == 0) from.refuse("a job of no rank");
    if (ranks_known_ && ranks != into_.ranks) {
      from.refuse(fmt::format("a job of {} ranks among those of {}", ranks, into_.ranks));
    }
    ranks_known_ = true;
    into_.ranks = ranks;
    const auto rank = from.small("a rank", ranks - 1);
    RankRecording& part = parts_[rank];
    const bool is_first = part.first == ClockReading{};
    part.rank = rank;
    if (part.ended) from.refuse(fmt::format("more of rank {} behind its end", rank));
    part.ended = from.number("flags of a block", kIsLast) != 0;
    part.last.ticks = from.number("the ticks of a clock");
    part.last.real_ns = from.number("the time of a clock");
    if (is_first) part.first = part.last;
    if (part.last.ticks < part.first.ticks || part.last.real_ns == 0) {
      from.refuse("a clock that goes backwards");
    }
    read_facts(from);
    for (auto left = from.count("communicators", 7); left > 0; --left) {
      part.communicators.push_back(read_communicator(from, ranks));
    }
    for (auto left = from.count("kinds of calls", 6); left > 0; --left) {
      part.kinds.push_back(read_kind(from, part.communicators));
    }
    part.sums.resize(part.kinds.size());
    read_calls(from, part);
    if (!from.is_at_end()) from.refuse("more than a block has");
  }

  void read_facts(ByteReader& from) {
    for (auto left = from.number("facts", kMostFacts); left > 0; --left) {
      const std::string name(from.text("the name of a fact", 64));
      into_.facts[name] = from.text("a fact", kMostTexts);
    }
  }

  void read_calls(ByteReader& from, RankRecording& part) {
    const std::size_t kinds = part.kinds.size();
    for (auto left = from.count("sums", 3); left > 0; --left) {
      const auto kind = from.number("the kind of a sum");
      if (kind >= kinds) from.refuse(fmt::format("a sum of kind {} of {}", kind, kinds));
      RecordedSum& sum = part.sums[kind];
      add(from, sum.calls, from.number("the calls of a sum"));
      add(from, sum.ticks, from.number("the ticks of a sum"));
    }
    add(from, part.calls_left_out, from.number("the calls left out"));
    add(from, part.calls_unknown, from.number("the unknown calls"));
    std::uint64_t begin = part.last.ticks;
    for (auto left = from.count("calls", 3); left > 0; --left) {
      RecordedCall call;
      const auto kind = from.number("the kind of a call");
      if (kind >= kinds) from.refuse(fmt::format("a call of kind {} of {}", kind, kinds));
      call.kind = static_cast<std::uint32_t>(kind);
      call.begin = begin = from.difference("the begin of a call", begin);
      call.ticks = from.number("the ticks of a call", std::uint64_t{1} << 48);
      part.calls.push_back(call);
    }
  }

  static void add(ByteReader& from, std::uint64_t& to, std::uint64_t more) {
    if (to + more < to) from.refuse("a sum of more than 64 bits");
    to += more;
  }

  std::string_view where_;
  Recording& into_;
  std::map<std::uint32_t, RankRecording>& parts_;
  bool ranks_known_ = !parts_.empty();
};

}  // namespace

Recording parse_recording(std::string_view where, std::string_view bytes, bool may_be_cut) {
  Recording recording;
  std::map<std::uint32_t, RankRecording> parts;
  Reader(where, recording, parts).read(bytes, may_be_cut);
  if (parts.empty()) throw_usage("{}: a recording of no rank: its job has not ended", where);
  for (auto& [rank, part] : parts) recording.parts.push_back(std::move(part));
  return recording;
}

Recording merge_recordings(const std::vector<RecordingFile>& files) {
  Recording recording;
  std::map<std::uint32_t, RankRecording> parts;
  for (const RecordingFile& file : files) {
    Reader(file.where, recording, parts).read(file.bytes, true);
  }
  for (auto& [rank, part] : parts) recording.parts.push_back(std::move(part));
  return recording;
}

}  // namespace weft::mpi
