#include "engine/board/whereabouts.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <mutex>

#include "engine/board/report.hpp"

namespace weft::engine::board {

namespace {

enum Flag : std::uint8_t {
  kHasCall = 1,
  kUnderWay = 2,
  kSetsUp = 4,
  kHasWait = 8,
  kByDevice = 16,
  kIsBroken = 32,
};
constexpr int kKindShift = 6;

// No connection has so many queue pairs.
constexpr std::uint64_t kNoLink = ~std::uint64_t{0};

struct Packed {
  std::uint64_t communicator = 0;
  std::uint64_t bytes = 0;  // of the call
  std::uint64_t link = kNoLink;
  std::int32_t rank = 0;
  std::uint32_t number = 0;
  std::uint32_t digest = 0;
  std::int32_t root = 0;
  std::int32_t peer = 0;
  std::uint32_t wait_bytes = 0;  // the most that fits
  std::uint16_t op = 0;
  std::uint16_t age = 0;  // tenths of a second since the call began, or ended
  std::uint8_t collective = 0;
  char state = '?';
  std::uint8_t flags = 0;
  std::uint8_t phase = 0;
};
static_assert(sizeof(Packed) == kWhereaboutsBytes);

template <class Narrow>
Narrow narrowed(double value) noexcept {
  return static_cast<Narrow>(
      std::clamp(value, 0.0, static_cast<double>(std::numeric_limits<Narrow>::max())));
}

}  // namespace

Whereabouts question_of(std::uint64_t communicator, int rank) noexcept {
  Packed question;
  question.communicator = communicator;
  question.rank = rank;
  return std::bit_cast<Whereabouts>(question);
}

Whereabouts answer_of(std::uint64_t communicator, const SeenRank& rank) noexcept {
  Packed packed;
  packed.communicator = communicator;
  packed.rank = rank.rank;
  packed.state = rank.process.state;
  packed.phase = static_cast<std::uint8_t>(rank.phase);
  const SeenCall* last = rank.last();
  if (last != nullptr) {
    packed.flags = static_cast<std::uint8_t>(kHasCall | (last->is_under_way() ? kUnderWay : 0));
    packed.number = last->number;
    packed.digest = last->digest;
  }
  if (const SeenCall* call = rank.setup ? &*rank.setup : last) {
    packed.bytes = call->bytes;
    packed.root = call->root;
    packed.collective = static_cast<std::uint8_t>(call->collective);
    packed.age = narrowed<std::uint16_t>(10 * call->ended_s.value_or(call->began_s));
  }
  if (rank.setup) packed.flags = static_cast<std::uint8_t>(packed.flags | kSetsUp);
  if (!rank.waits.empty()) {
    const SeenWait& wait = rank.waits.front();
    packed.flags = static_cast<std::uint8_t>(
        packed.flags | kHasWait | (wait.over_device ? kByDevice : 0) |
        (wait.broken ? kIsBroken : 0) | static_cast<int>(wait.kind) << kKindShift);
    packed.peer = wait.peer;
    if (wait.link) packed.link = wait.link->word();
    packed.op = narrowed<std::uint16_t>(wait.op);
    packed.wait_bytes = narrowed<std::uint32_t>(static_cast<double>(wait.bytes));
  }
  return std::bit_cast<Whereabouts>(packed);
}

std::optional<SeenRank> rank_from(const Whereabouts& answer, std::uint64_t communicator) {
  const auto packed = std::bit_cast<Packed>(answer);
  if (packed.communicator != communicator || packed.rank < 0) return std::nullopt;
  SeenRank rank;
  rank.rank = packed.rank;
  rank.node = -1;  // not told
  rank.process.state = packed.state;
  rank.has_posting = true;
  rank.phase = static_cast<Phase>(std::min<std::uint8_t>(packed.phase, 2));
  SeenCall call;
  call.number = packed.number;
  call.digest = packed.digest;
  call.root = packed.root;
  call.bytes = packed.bytes;
  if (packed.collective < plan::all_collectives().size()) {
    call.collective = static_cast<plan::Collective>(packed.collective);
  }
  const double age_s = packed.age / 10.0;
  call.began_s = age_s;
  if ((packed.flags & kSetsUp) != 0) {
    rank.setup = call;
    rank.phase_s = age_s;
    // Of the call before it only these are known.
    call = {};
    call.number = packed.number;
    call.digest = packed.digest;
    call.ended_s = age_s;
  } else if ((packed.flags & kUnderWay) == 0) {
    call.ended_s = age_s;
  }
  if ((packed.flags & kHasCall) != 0) rank.calls.push_back(call);
  if ((packed.flags & kHasWait) != 0) {
    SeenWait wait;
    wait.kind = static_cast<WaitKind>(packed.flags >> kKindShift);
    wait.over_device = (packed.flags & kByDevice) != 0;
    wait.broken = (packed.flags & kIsBroken) != 0;
    wait.peer = packed.peer;
    if (packed.link != kNoLink) wait.link = Link::of(packed.link);
    wait.op = packed.op;
    wait.bytes = packed.wait_bytes;
    rank.waits.push_back(wait);
  }
  return rank;
}

bool answer(Whereabouts& text) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kFresh{100};
  static std::mutex mutex;
  static auto& seen = *new std::vector<SeenCommunicator>;  // threads may ask after main()
  static Clock::time_point seen_at;
  const auto question = std::bit_cast<Packed>(text);
  const std::lock_guard lock(mutex);
  if (const auto now = Clock::now(); now - seen_at > kFresh) {
    seen = look(with_neighbours());
    seen_at = Clock::now();
  }
  const auto at = std::ranges::find(seen, question.communicator, &SeenCommunicator::number);
  if (at == seen.end()) return false;
  const auto rank = std::ranges::find(at->ranks, question.rank, &SeenRank::rank);
  if (rank == at->ranks.end()) return false;
  text = answer_of(question.communicator, *rank);
  return true;
}

}  // namespace weft::engine::board
