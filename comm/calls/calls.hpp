// Calls of a communicator: for each task the programs that carry it out, prepared when first asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/calls/call_cache.hpp"
#include "comm/calls/preparation.hpp"
#include "comm/irregular/neighbour_exchange.hpp"
#include "comm/irregular/rooted_exchange.hpp"
#include "comm/irregular/vector_exchange.hpp"

namespace weft::comm {

class Calls {
 public:
  /// `gate`: of the communicator.
  Calls(Resources& resources, AgreedChoice& choice, Usage& usage, Gate& gate)
      : resources_(resources),
        choice_(choice),
        usage_(usage),
        preparation_(resources, choice, usage, gate) {}

  /// Valid until the next call of this. All ranks ask for the same, in the same order.
  const SharedCall& call_for(const Task& task);
  /// Throws NotPrepared, on all ranks alike, where call_for() would have them wait for one another:
  /// see Communicator::IfNew, of which this is not `prepare`.
  void refuse_if_new(const Task& task, Communicator::IfNew what);
  /// Prepares what was put off. Collective.
  void prepare_put_off();
  /// The same of a neighbourhood exchange, of which each rank gives its own edges.
  const SharedCall& neighbour_call_for(std::span<const Edge> out, std::span<const Edge> in);
  /// The algorithm of the last alltoallv; there has been one.
  std::string vector_algorithm() const { return vector_->algorithm(); }
  /// The most bytes of a block that alltoallvs on one node send in slots.
  std::uint64_t most_in_slots() const noexcept {
    return vector_ != nullptr ? vector_->most_in_slots() : VectorExchange::kMostInSlotsForCalls;
  }
  /// The last call that call_for() has returned, other than of an alltoallv, if it may be made
  /// again as it is; null: none.
  Communicator::Made keep_last() noexcept;
  /// The last call was none of these.
  void forget_last() noexcept { last_ = nullptr; }
  /// The call; null where it is forgotten.
  const Call* known(const Communicator::Made& made) const noexcept {
    const bool is_known = made.at == kept_since() || made.at == (changes() | kOnlyLast);
    return is_known ? static_cast<const Call*>(made.call) : nullptr;
  }
  /// Adds what the calls so far had for each rank, where it is known which got what.
  void add_sent(std::span<std::uint64_t> bytes) const;

 private:
  class SetUp;
  std::uint64_t changes() const noexcept { return changes_ + preparation_.changes(); }
  std::uint64_t kept_since() const noexcept { return preparation_.generation(); }
  /// A call that is to be prepared later.
  struct PutOff {
    plan::Problem problem;
    unsigned by_kernel;  // see Preparation::prepare()
    bool irregular;      // see Task
  };
  using Rooted = std::map<std::pair<plan::Collective, int>, RootedExchange>;  // by root
  bool is_known(const Task& task);
  const SharedCall& block_call_for(const Task& task);
  const SharedCall* find_block_call(const plan::Problem& problem);
  const SharedCall& prepare(const plan::Problem& problem, unsigned by_kernel);
  const SharedCall& rooted_call_for(const plan::Problem& problem);
  Rooted::iterator find_rooted(const plan::Problem& problem);
  Rooted::iterator prepare_rooted(const plan::Problem& problem);
  void forget_old_classes();
  const SharedCall& vector_call_for(const Task& task);
  bool keep(const SharedCall& call) noexcept;
  void end_set_up();

  Resources& resources_;
  AgreedChoice& choice_;
  Usage& usage_;
  Preparation preparation_;
  // Those that all ranks agreed about one by one are forgotten by all of them at the same time, as
  // to prepare one anew is collective. The others are as many as memory allows: a step is about
  // 130 bytes, so they take 8.5 MiB at most (and sized ones as much: see Preparation).
  static constexpr std::size_t kMostAgreed = 512;
  static constexpr std::size_t kMostSteps = 1 << 16;
  CallCache agreed_{kMostAgreed};
  CallCache of_classes_{kMostSteps};
  std::uint64_t generation_ = 0;  // of the classes
  // The first calls for which that is asked are kept as they are, though others of their class take
  // other numbers: a program has few sizes, or so many that none comes again soon. As a call of a
  // class is a rank's own affair, until all ranks forget their classes, so is this.
  static constexpr std::size_t kMostKept = 256;
  static constexpr std::size_t kMostKeptSteps = 1 << 14;
  static constexpr std::uint64_t kOnlyLast = std::uint64_t{1} << 63;  // Made::at is of changes()
  std::unordered_map<plan::Problem, SharedCall, ProblemHash> kept_;
  std::size_t kept_steps_ = 0;
  const SharedCall* last_ = nullptr;  // of any of these
  std::uint64_t changes_ = 0;         // of the caches
  // More in a row are left to a later call to be put off. All ranks put off the same ones.
  static constexpr std::size_t kMostPutOff = 64;
  std::vector<PutOff> put_off_;
  Rooted rooted_;
  std::unique_ptr<VectorExchange> vector_;         // from the first alltoallv on
  std::unique_ptr<NeighbourExchange> neighbours_;  // from the first neighbourhood exchange on
};

}  // namespace weft::comm
