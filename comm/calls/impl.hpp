// Implementation of a communicator: the calls of one rank, and its requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/give_way.hpp"
#include "comm/calls/after_barriers.hpp"
#include "comm/calls/agreed_choice.hpp"
#include "comm/calls/calls.hpp"
#include "comm/calls/gate.hpp"
#include "comm/calls/heap_copies.hpp"
#include "comm/calls/usage.hpp"
#include "comm/irregular/packed_exchange.hpp"
#include "comm/setup/call.hpp"
#include "comm/setup/call_check.hpp"
#include "comm/setup/resources.hpp"
#include "weft/weft.hpp"

namespace weft {

/// One rank's side of a request: pieces, which are begun in their order. Most have one.
struct Request::Impl {
  /// A call that may be begun, and its executions while it is under way.
  struct Piece {
    comm::Task task;
    std::shared_ptr<const comm::Call> call = nullptr;  // its programs; null: nothing to move
    std::vector<engine::Execution*> under_way = {};
    engine::CallTag tag = {};  // of its call
    std::vector<std::byte> aside = {};
    comm::HeapCopies copies = {};
  };
  Communicator::Impl& home;
  std::vector<Piece> pieces;
  std::size_t begun = 0;  // pieces, since the request was last started

  bool is_under_way() const noexcept {
    return std::ranges::any_of(pieces, [](const Piece& one) { return !one.under_way.empty(); });
  }
  /// UsageError where it is not begun: `what` needs it.
  Piece& begun_piece(const char* what, std::size_t number);
};

class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
      : resources_(std::move(bootstrap), options), choice_(resources_) {}

  int rank() const noexcept { return resources_.rank(); }
  int size() const noexcept { return resources_.size(); }
  const hierarchy::Machine& machine() const noexcept { return resources_.machine(); }

  /// The most bytes of an alltoall in place that are copied aside: half of WEFT_STAGE, the same on
  /// every rank.
  std::uint64_t most_aside() const noexcept { return resources_.settings().stage_bytes / 2; }

  /// For the blocking barrier that is to come: the one that suits what follows.
  void prepare_barrier(plan::Problem& problem) const noexcept {
    if (!gives_way()) after_barriers_.prepare(problem);
  }
  /// Runs a collective that all ranks describe alike.
  void run(const comm::Task& task);
  void run_neighbours(const std::byte* input, std::span<const Edge> out, std::byte* output,
                      std::span<const Edge> in);
  bool packs_in_parts() const { return comm::PackedExchange::serves(resources_); }
  bool reads_by_system_calls() const {
    return machine().nodes() == 1 && resources_.view() == engine::View::cma;
  }
  bool takes_system_calls(const void* output, std::size_t block_bytes) const {
    return packs_in_parts() && block_bytes > calls_.most_in_slots() &&
           !resources_.is_reached_by_loads(output);
  }
  /// An alltoallw.
  void run_packed(std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                  const Packer& packer);
  // rooted_runs.cpp
  /// A scatter or gather of blocks of different sizes; `task` has no buffers. See gatherw().
  void run_rooted_packed(const comm::Task& task, const Packer& packer);

  /// The last call, where it is one that repeat() makes again.
  Made last_made() noexcept { return checks_calls() ? Made{} : calls_.keep_last(); }
  /// `in_place`: the input is at `output`, not at `input`.
  bool repeat(const Made& made, const std::byte* input, std::byte* output,
              const Operation* operation, bool in_place);
  [[noreturn]] void fail(std::string_view why);
  bool checks_calls() const noexcept { return resources_.settings().check; }
  void describe_next_call(comm::CallSignature added) { next_call_ = std::move(added); }
  bool close() noexcept;

  // by_stages.cpp
  void set_by_stages(bool by_stages) noexcept { is_by_stages_ = by_stages; }
  std::uint64_t bytes_outside_heap() const noexcept;

  void if_next_is_new(IfNew what) noexcept { if_next_is_new_ = what; }
  IfNew if_next_is_new() const noexcept { return if_next_is_new_; }
  void prepare_put_off();

  // requests.cpp
  /// What is ready to be started, piece by piece. It keeps its programs.
  std::unique_ptr<Request::Impl> request(std::span<const comm::Task> pieces);
  std::unique_ptr<Request::Impl> request(const comm::Task& task) {
    return request(std::span(&task, 1));
  }
  void start(Request::Impl::Piece& piece);
  bool test(Request::Impl::Piece& piece);
  void wait(Request::Impl::Piece& piece);

  tune::Algorithm algorithm_for(const plan::Problem& problem) const {
    return choice_.algorithm_for(problem);
  }
  Statistics statistics() const;

 private:
  friend class weft::Request;
  using Call = comm::Call;

  /// Whether the executor is used in turns with other threads.
  bool needs_turn() const noexcept {
    return resources_.requests().needs_turn() || (wants_thread_ && gives_way());
  }
  /// Measured where more than two ranks of one node have to share cores.
  bool barriers_suit_next() const {
    return size() > 2 && machine().nodes() == 1 && resources_.is_any_crowded();
  }
  /// NotPrepared where the call is new, if that was asked for of this call.
  void refuse_if_asked(const comm::Task& task) {
    const IfNew what = std::exchange(if_next_is_new_, IfNew::prepare);
    if (what != IfNew::prepare) refuse_if_new(task, what);
  }
  void refuse_if_new(const comm::Task& task, IfNew what);
  void run_now(const comm::Task& asked);
  comm::Calls& calls_of(const comm::Task& task);
  /// Where WEFT_CHECK asks for it: CallError on all ranks where some make other calls.
  void check(const comm::Task& task);
  /// A call begins that all ranks describe alike: it is checked, and noted where it is blocking.
  void begin(const comm::Task& task);
  /// The same of calls of which ranks share nothing but the collective.
  void begin_kind(plan::Collective collective);
  void run_plain(const Call& call, comm::Counts& counts, const engine::Buffers& buffers);
  void carry_out(const comm::Task& asked, const Call& call, comm::Counts& counts);
  /// `is_each_timed`: not only one in so many of such calls.
  void end_counted(comm::Counts& counts, bool is_each_timed = true);
  /// The same, not inlined.
  void end_long(comm::Counts& counts);
  template <class Body>
  void run_exclusively(Body body);
  std::string run_in_parts(std::span<const std::size_t> sends,
                           std::span<const std::size_t> receives, const Packer& packer);
  void run_prepared(const engine::Prepared& prepared, const engine::Buffers& buffers);
  /// A scatter or gather of blocks of different sizes, which are run in pieces.
  void run_rooted(const comm::Task& task);
  class RootedRuns;
  class PackedPieces;
  void start_thread();
  /// The executions of a piece of a request are over.
  void end(Request::Impl::Piece& piece) noexcept;

  comm::Resources resources_;
  comm::AgreedChoice choice_;
  comm::Usage usage_;
  comm::Gate gate_{resources_};
  comm::Calls calls_{resources_, choice_, usage_, gate_};
  comm::AfterBarriers after_barriers_{barriers_suit_next()};
  /// The choice and the calls beside those that read buffers where they lie.
  struct ByStages {
    comm::AgreedChoice choice;
    comm::Calls calls;
    explicit ByStages(Impl& home)
        : choice(comm::AgreedChoice::by_stages(home.resources_)),
          calls(home.resources_, choice, home.usage_, home.gate_) {}
  };
  std::unique_ptr<ByStages> by_stages_;  // null: no call has gone so
  bool is_by_stages_ = false;
  IfNew if_next_is_new_ = IfNew::prepare;
  std::vector<std::byte> aside_;
  comm::HeapCopies copies_;
  std::unique_ptr<comm::PackedExchange> packed_;  // null: no alltoallw has come
  comm::CallSignature next_call_;                 // what its caller adds to the next call
  bool wants_thread_ = resources_.settings().progress_thread;
};

/// Apart, so that calls without a progress thread are not longer for it.
template <class Body>
void Communicator::Impl::run_exclusively(Body body) {
  resources_.members().require_no_poison();
  if (wants_thread_ && gives_way()) start_thread();
  const auto exclusive = resources_.requests().exclusive();
  struct End {
    comm::RequestProgress& requests;
    ~End() { requests.end_call(); }
  } end{resources_.requests()};
  body();
}

}  // namespace weft
