// Membership of one rank in a communicator: its bootstrap, how all ranks agree, and poison.
//
// A communicator is *poisoned* when an error leaves its ranks in different states: nothing can be
// run on it any more, and every later call throws what went wrong. agree() poisons it on all ranks
// at once. An error that only one rank knows of is told to the others by the executor and by the
// bootstrap (Resources::poison_all()), and they poison theirs when they find it in one of these.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/bootstrap/agreement.hpp"
#include "comm/setup/progress_thread.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

class Membership {
 public:
  explicit Membership(std::unique_ptr<Bootstrap> bootstrap)
      : bootstrap_(std::move(bootstrap)), rank_(bootstrap_->rank()), size_(bootstrap_->size()) {}

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  Bootstrap& bootstrap() const noexcept { return *bootstrap_; }

  /// Requests under way move on while this rank waits in the bootstrap.
  void attach(RequestProgress& requests) noexcept { requests_ = &requests; }

  /// Runs `work`; returns its results on all ranks, in rank order. Where it threw on one, every
  /// rank is poisoned and throws the same error. Collective.
  template <class Work>
  requires(!std::is_void_v<std::invoke_result_t<Work>>) std::vector<std::string> agree(Work work) {
    return agree_on(as_step(work));
  }
  /// The same for work without a result, by a vote alone.
  template <class Work>
  requires std::is_void_v<std::invoke_result_t<Work>>
  void agree(Work work) {
    vote(work, [](std::string_view, std::string_view) { return std::string(); });
  }
  /// The same for work whose results are joined to one, which is returned: see
  /// Bootstrap::combine().
  template <class Work>
  std::string vote(Work work, const Bootstrap::Merge& merge) {
    return vote_on(as_step(work), merge);
  }
  /// The same for results that only `members` need: see Bootstrap::gather_among(). Collective over
  /// all ranks.
  template <class Work>
  std::vector<std::string> agree_among(std::span<const int> members, Work work) {
    return agree_among_on(members, as_step(work));
  }
  /// `described`: the calls of all ranks in words. CallError and poison where two differ.
  void require_alike(std::span<const std::string_view> described);
  /// The bootstrap's.
  std::vector<std::string> allgather(std::string_view mine);
  std::vector<std::string> exchange(std::span<const int> peers, std::span<const std::string> mine);

  void poison(std::string why) { poison_ = std::move(why); }
  /// The same, and tells the others by the bootstrap.
  void give_up(std::string why) noexcept;
  bool is_poisoned() const noexcept { return !poison_.empty(); }
  /// PeerError.
  [[noreturn]] void throw_poison() const { throw PeerError(poison_); }
  void require_no_poison() const {
    if (is_poisoned()) throw_poison();
  }

  /// For the report: a slower path that is taken, and why.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  std::vector<std::string> agree_on(const Step& step);
  std::string vote_on(const Step& step, const Bootstrap::Merge& merge);
  std::vector<std::string> agree_among_on(std::span<const int> members, const Step& step);
  std::vector<std::string> results_of(StepOutcome outcome);
  void hand_over(std::optional<Handover>& handover);
  template <class Call>
  auto in_bootstrap(Call call);

  std::unique_ptr<Bootstrap> bootstrap_;
  int rank_;
  int size_;
  RequestProgress* requests_ = nullptr;
  std::string poison_;  // empty: none
  std::vector<std::string> notes_;
};

}  // namespace weft::comm
