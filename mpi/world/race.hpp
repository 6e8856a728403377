// Race: who serves the calls of one kind in least time, measured in the program itself: weft, weft
// by stages (it reads no neighbour's buffer where it lies), or the host MPI.
//
// No rule and no simulation knows everything: two cores may share no cache, a host may be tuned to
// its machine, other programs may run. So when weft has served a few calls of a kind on a
// communicator, some calls are served by the one and some by the other, and timed; the one that
// took less time serves the calls after that. All ranks count the same calls, so each call has one
// server; and what they have measured they exchange before they decide.
//
// A round is a race with the host, and one with the stages: that one only where some rank has read
// a neighbour's buffer by system calls, as it lies outside of the shared heap, though those of the
// first call of its size did not (comm/calls/preparation.hpp). By loads nothing is gained by
// stages, and which buffers lie where no rank knows of the others.
//
// A call takes from the arrival of its last rank to the departure of its last one. That needs a
// clock that all ranks read: where they are on several hosts it is the least time that a rank was
// in the call, which is about the same where no rank leaves before all have come.
//
// Where ranks share cores, work that a rank does before the last one comes delays that one, and is
// not part of the time above. There a trial is timed by processor time: how long the rank's thread
// ran during the call. The least of all ranks counts, as ranks that wait may poll meanwhile, but
// the last one to come does not wait. That stands for all ranks only where they do the same work,
// and is worth the trouble only for long calls: so only long alltoalls are raced there, between
// weft and stages.
//
// Where weft reads all buffers by system calls, as the host does, it gains nothing in long
// alltoalls unless stages do. There the host serves them until stages are tried: nothing has to be
// prepared for a few calls.
//
// The price: each server serves a call that is not timed, as the caches are the other's, and then
// two that are. Where they say that one takes more than 1.5 times as long as the other, that is
// all, else each serves one and four more. Calls are timed by twos: programs that alternate between
// two sizes do so for both servers. Stages are given up where they take 1.1 times as long, and
// tried after 96 calls, so that the trial costs about 2 % of the time until then; after 256 where
// ranks share cores, as the first touches of so many stages take as long as ten calls. Of short
// calls the first race begins then, too, as for ranks to exchange what they have measured takes as
// long as a hundred; of others after 8. A race begins anew whenever there have been eight times as
// many calls, as machines change.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "comm/setup/stopwatch.hpp"
#include "plan/collective_set.hpp"

namespace weft::mpi {

/// The race of one kind of calls.
class Race {
 public:
  enum class Server : std::uint8_t { weft, stages, host };
  /// no_host: weft without and with stages.
  enum class Contenders : std::uint8_t { all, without_stages, no_host };
  /// What trials are timed by: a counter that all ranks read, or one of the rank's own, or the time
  /// for which the thread has had a processor.
  enum class Clock : std::uint8_t { common, own, processor };

  struct Rules {
    Contenders contenders = Contenders::all;
    Clock clock = Clock::common;
    Server first = Server::weft;  // serves the calls before the first race
    bool is_late = false;         // the first race comes when stages are due
  };
  explicit Race(const Rules& rules) noexcept;
  /// Of calls that are never raced.
  static Race of_nothing() noexcept {
    Race race{Rules{}};
    race.next_at_ = race.quiet_until_ = UINT64_MAX;
    return race;
  }
  /// Counts a call. Whether ranks must exchange their figures() first, for learn().
  bool count() noexcept {
    ++calls_;
    return trials_ != nullptr && trials_->made == trials_->wanted;
  }
  /// Whether the next call is weft's, not by stages, and none of a race: it has only to be counted.
  bool is_quiet() const noexcept { return calls_ + 1 < quiet_until_; }
  /// Whether the next call is the host's, and none of a race.
  bool is_left() const noexcept {
    return winner_ == Server::host &&
           (is_put_off_ || (trials_ == nullptr && calls_ + 1 < next_at_));
  }
  /// Ranks exchange their figures later, and are asked no more: until learn() the winner so far
  /// serves all calls.
  void put_off() noexcept {
    is_put_off_ = true;
    if (winner_ == Server::weft) quiet_until_ = UINT64_MAX;
  }
  /// Of the call that was counted last. Starts a race when it is time; std::bad_alloc: not now.
  Server server() {
    if (trials_ == nullptr) {
      if (calls_ < next_at_) return winner_;
      trials_ = std::make_unique<Trials>();
      if (challenger_ == Server::stages) trials_->cold = kHalves;
      quiet_until_ = 0;
    }
    return trials_->is_of_winner() ? winner_ : challenger_;
  }

  bool is_on() const noexcept { return trials_ != nullptr; }
  Clock clock() const noexcept { return clock_; }
  /// When this rank came to a call of the race that is on, and when it left, by the clock.
  void add(std::uint64_t arrived, std::uint64_t left) noexcept;
  /// In that call weft has read neighbours' buffers in a way to which stages are to be compared.
  void add_system_calls() noexcept { trials_->figures.front() = 1; }

  /// What this rank has measured: of all ranks' figures in a place the largest counts.
  std::span<const std::uint64_t> figures() const noexcept;
  /// Decides, or goes on with more calls, from the largest figures of all ranks.
  void learn(std::span<const std::uint64_t> largest);

  Server winner() const noexcept { return winner_; }

 private:
  static constexpr std::size_t kFirst = 4;  // calls that are timed
  static constexpr std::size_t kMost = 12;
  static constexpr std::uint64_t kAfterCalls = 8;
  static constexpr std::uint64_t kAgainAfterTimes = 8;

  static constexpr std::uint64_t kStagesAfterCalls = 96;
  static constexpr std::uint64_t kStagesOfCrowdedAfterCalls = 256;
  static constexpr std::size_t kHalves = 2;  // of a stage, in turns: the first touch takes long

  struct Trials {
    std::size_t cold = 1;  // calls that are not timed before the next one that is
    std::size_t made = 0;
    std::size_t wanted = kFirst;
    // Whether there were system calls, and two for each trial.
    std::array<std::uint64_t, 1 + 2 * kMost> figures{};

    bool is_of_winner() const noexcept;
  };

  std::uint64_t stages_after_calls() const noexcept;
  Server first_challenger() const noexcept;
  bool may_be_second(Server challenger) const noexcept;
  void begin_second(Server challenger) noexcept;
  void end_round() noexcept;

  Contenders contenders_;
  Clock clock_;
  std::uint64_t calls_ = 0;
  std::uint64_t next_at_ = kAfterCalls;
  std::uint64_t quiet_until_ = kAfterCalls;  // next_at_ where weft serves all calls until then
  Server winner_;
  Server challenger_;       // of the race that is on, or of the next one
  bool is_second_ = false;  // race of its round
  bool is_put_off_ = false;
  bool has_system_calls_ = false;   // when weft took part in a race the last time
  std::unique_ptr<Trials> trials_;  // of a race that is on
};

/// A call of a race, from this rank's arrival to the end of this object's life; or none.
class Trial {
 public:
  Trial() = default;
  explicit Trial(Race& race) noexcept : race_(&race), arrived_(now()) {}
  Trial(Trial&& other) noexcept
      : race_(std::exchange(other.race_, nullptr)), arrived_(other.arrived_) {}
  Trial& operator=(Trial&& other) noexcept {
    std::swap(race_, other.race_);
    std::swap(arrived_, other.arrived_);
    return *this;
  }
  bool is_on() const noexcept { return race_ != nullptr; }
  void add_system_calls() noexcept { race_->add_system_calls(); }
  /// Another call is to take its place.
  void call_off() noexcept { race_ = nullptr; }
  ~Trial() {
    if (race_ != nullptr) race_->add(arrived_, now());
  }

 private:
  std::uint64_t now() const noexcept;

  Race* race_ = nullptr;
  std::uint64_t arrived_ = 0;
};

/// The races of a communicator: one for each collective and power of two of the bytes of a block,
/// or, where ranks do not share sizes, for each function of MPI.
class Races {
 public:
  /// Where ranks have no common clock, collectives whose ranks may leave before all have come are
  /// not raced; by the time of processors alltoalls alone are. `like_host`: weft reads buffers as
  /// the host does.
  Races(plan::CollectiveSet not_raced, Race::Clock clock, bool like_host);

  bool may_race(plan::Collective collective) const noexcept {
    return !not_raced_.contains(collective);
  }
  /// Null: calls of so many bytes are not raced. Lives as long as this.
  Race* of(plan::Collective collective, std::uint64_t block_bytes) {
    if (clock_ == Race::Clock::processor && !is_long(block_bytes)) return nullptr;
    return &class_of(collective, static_cast<std::size_t>(std::bit_width(block_bytes)),
                     rules_for(collective, block_bytes));
  }
  /// `function`: a number below kClasses. Lives as long as this.
  Race& of_function(plan::Collective collective, std::size_t function) {
    return class_of(collective, function,
                    {.contenders = Race::Contenders::without_stages, .clock = clock_});
  }

  static constexpr std::size_t kClasses = 65;

 private:
  static constexpr std::size_t kCollectives = 16;  // no fewer than there are
  using ByClass = std::array<std::optional<Race>, kClasses>;

  static bool is_long(std::uint64_t block_bytes) noexcept;
  Race::Rules rules_for(plan::Collective collective, std::uint64_t block_bytes) const noexcept;
  Race& class_of(plan::Collective collective, std::size_t number, const Race::Rules& rules) {
    std::unique_ptr<ByClass>& races = by_class_[static_cast<std::size_t>(collective)];
    if (races == nullptr) races = std::make_unique<ByClass>();
    std::optional<Race>& race = (*races)[number];
    return race ? *race : race.emplace(rules);
  }

  plan::CollectiveSet not_raced_;
  Race::Clock clock_;
  bool like_host_;
  std::array<std::unique_ptr<ByClass>, kCollectives> by_class_;
};

}  // namespace weft::mpi
