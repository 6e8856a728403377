// Runs: calls that end before they return.
#include <numeric>
#include <utility>

#include "base/give_way.hpp"
#include "comm/calls/impl.hpp"
#include "comm/calls/slices.hpp"
#include "comm/irregular/piecewise_exchange.hpp"

namespace weft {

namespace {

/// Whether a part of its result takes that part of the inputs and no more.
bool is_elementwise(const plan::Problem& problem) {
  return is_reduction(problem.collective) && !has_blocks_of_all(problem.collective);
}

}  // namespace

void Communicator::Impl::run_prepared(const engine::Prepared& prepared,
                                      const engine::Buffers& buffers) {
  if (!resources_.executor().run(prepared, buffers)) resources_.require_no_failure();
}

void Communicator::Impl::check(const comm::Task& task) {
  resources_.members().require_no_poison();
  engine::board::Poster& poster = resources_.executor().poster();
  const plan::Problem& problem = task.problem;
  poster.begin_setup(
      engine::board::pack(static_cast<std::uint8_t>(problem.collective), 0, problem.root),
      problem.block_bytes);
  comm::require_alike(resources_.members(),
                      comm::signature_of(task, std::exchange(next_call_, {})));
  poster.end_setup();
}

void Communicator::Impl::begin(const comm::Task& task) {
  if (checks_calls()) check(task);
  if (!gives_way()) after_barriers_.note(task.problem);
}

void Communicator::Impl::begin_kind(plan::Collective collective) {
  if (!gives_way()) after_barriers_.note_other();
  if (!checks_calls()) return;
  comm::Task task;
  task.problem.collective = collective;
  check(task);
}

void Communicator::Impl::refuse_if_new(const comm::Task& task, IfNew what) {
  if (comm::moves_nothing(task) || resources_.members().is_poisoned()) return;
  const auto exclusive = resources_.requests().exclusive();
  calls_of(task).refuse_if_new(task, what);
}

void Communicator::Impl::prepare_put_off() {
  run_exclusively([&] {
    engine::Executor& executor = resources_.executor();
    executor.arrive(usage_.begin());
    calls_.prepare_put_off();
    if (by_stages_ != nullptr) by_stages_->calls.prepare_put_off();
    executor.leave(executor.tag(), comm::Stopwatch::ticks());
  });
}

void Communicator::Impl::run(const comm::Task& task) {
  refuse_if_asked(task);
  begin(task);
  if (comm::moves_nothing(task)) return;
  if (resources_.members().is_poisoned() || needs_turn()) {
    return run_exclusively([&] { run_now(task); });
  }
  run_now(task);
}

bool Communicator::Impl::repeat(const Made& made, const std::byte* input, std::byte* output,
                                const Operation* operation, bool in_place) {
  const Call* const known = calls_.known(made);
  if (known == nullptr || needs_turn() || resources_.members().is_poisoned()) return false;
  const Call& call = *known;
  if (!after_barriers_.suits(call.problem)) return false;
  after_barriers_.note(call.problem);
  if (in_place) input = comm::set_aside(output, call.input_bytes, aside_);
  const engine::Buffers buffers{input, output, operation};
  comm::Counts& counts = usage_.at(call.entry);
  const bool is_short = !call.slice->sequence.empty();
  if (is_short) {
    engine::Executor& executor = resources_.executor();
    executor.begin_call(call.key);
    if (!executor.run(*call.slice, buffers)) [[unlikely]]
      resources_.require_no_failure();
  } else {
    resources_.executor().arrive(usage_.begin());
    run_plain(call, counts, buffers);
  }
  ++counts.calls;
  counts.bytes += call.input_bytes;
  if (!is_short || resources_.executor().has_waited() || comm::Usage::is_timed(counts)) {
    if (is_short) usage_.begin_at(resources_.executor().arrived());
    end_counted(counts, !is_short || resources_.executor().has_waited());
  } else {
    // Not timed: it has ended soon after it began.
    engine::Executor& executor = resources_.executor();
    executor.leave(executor.tag(), executor.arrived());
    resources_.host_progress().after_call(executor.arrived());
  }
  return true;
}

void Communicator::Impl::fail(std::string_view why) {
  resources_.members().require_no_poison();
  const auto exclusive = resources_.requests().exclusive();
  resources_.poison_all(why);
}

bool Communicator::Impl::close() noexcept {
  const auto exclusive = resources_.requests().exclusive();
  return resources_.close();
}

void Communicator::Impl::run_now(const comm::Task& asked) {
  if (asked.irregular && comm::is_cut(asked.problem)) return run_rooted(asked);
  resources_.executor().arrive(usage_.begin());
  const Call& call = *calls_of(asked).call_for(asked);
  comm::Counts& counts = usage_.at(call.entry);
  carry_out(asked, call, counts);
  ++counts.calls;
  counts.bytes += call.input_bytes;
  end_counted(counts);
}

inline void Communicator::Impl::run_plain(const Call& call, comm::Counts& counts,
                                          const engine::Buffers& buffers) {
  resources_.executor().begin_call(call.key);
  run_prepared(*call.slice, buffers);
  counts.messages += call.slice->messages;
  counts.wire_bytes += call.slice->wire_bytes;
}

inline void Communicator::Impl::carry_out(const comm::Task& asked, const Call& call,
                                          comm::Counts& counts) {
  if (call.is_plain && !asked.in_place) {
    return run_plain(call, counts, {asked.input, asked.output, &asked.operation});
  }
  resources_.executor().begin_call(call.key);
  const comm::Task& task = comm::publish(resources_, call, asked, copies_);
  const bool by_slices = task.in_place && is_elementwise(task.problem);
  const bool at_once = task.in_place && !by_slices;
  const std::byte* input =
      at_once ? comm::set_aside(task.input, call.input_bytes, aside_) : task.input;
  comm::for_each_slice(
      call, task, input, counts, [&](const auto& prepared, engine::Buffers buffers) {
        if (by_slices) {
          buffers.input = comm::set_aside(buffers.input, prepared.program.input_bytes(), aside_);
        }
        run_prepared(prepared, buffers);
      });
  copies_.copy_out();
}

inline void Communicator::Impl::end_counted(comm::Counts& counts, bool is_each_timed) {
  engine::Executor& executor = resources_.executor();
  if (gives_way()) {
    // On a fiber the program was elsewhere meanwhile: its time is not the call's.
    const std::uint64_t now = comm::Stopwatch::ticks();
    executor.leave(executor.tag(), now);
    return resources_.host_progress().after_call(now);
  }
  const std::uint64_t end = usage_.end(counts, is_each_timed, [this](std::uint64_t ticks) noexcept {
    return resources_.executor().waited(ticks);
  });
  executor.leave(executor.tag(), end);
  resources_.host_progress().after_call(end);
}

void Communicator::Impl::end_long(comm::Counts& counts) {
  end_counted(counts);
}

void Communicator::Impl::run_neighbours(const std::byte* input, std::span<const Edge> out,
                                        std::byte* output, std::span<const Edge> in) {
  const auto now = [&] {
    resources_.executor().arrive(usage_.begin());
    const Call& call = *calls_.neighbour_call_for(out, in);
    comm::Counts& counts = usage_.at(call.entry);
    run_plain(call, counts, {input, output, nullptr});
    ++counts.calls;
    counts.bytes += call.input_bytes;
    end_counted(counts);
  };
  begin_kind(plan::Collective::alltoallv);
  if (resources_.members().is_poisoned() || needs_turn()) return run_exclusively(now);
  now();
}

/// In shared memory inside a node. Returns the name of the algorithm.
std::string Communicator::Impl::run_in_parts(std::span<const std::size_t> sends,
                                             std::span<const std::size_t> receives,
                                             const Packer& packer) {
  comm::Counts news;
  if (packed_ == nullptr) packed_ = std::make_unique<comm::PackedExchange>(resources_);
  return packed_->run(sends, receives, packer, [&](const comm::Task& task) {
    carry_out(task, *calls_.call_for(task), news);
  });
}

void Communicator::Impl::run_packed(std::span<const std::size_t> sends,
                                    std::span<const std::size_t> receives, const Packer& packer) {
  begin_kind(plan::Collective::alltoallv);
  run_exclusively([&] {
    resources_.executor().arrive(usage_.begin());
    comm::Counts runs;
    std::string algorithm;
    if (packs_in_parts()) {
      algorithm = run_in_parts(sends, receives, packer);
    } else {
      comm::PiecewiseExchange pieces(resources_, sends, receives, packer);
      pieces.run([&](const comm::Task& task) { carry_out(task, *calls_.call_for(task), runs); });
      algorithm = calls_.vector_algorithm();
    }
    const auto bytes = std::accumulate(sends.begin(), sends.end(), std::uint64_t{0});
    comm::Counts& counts =
        usage_.at(usage_.entry_for(plan::Collective::alltoallv, algorithm, bytes / sends.size()));
    counts.messages += runs.messages;
    counts.wire_bytes += runs.wire_bytes;
    ++counts.calls;
    counts.bytes += bytes;
    end_counted(counts);
  });
}

Statistics Communicator::Impl::statistics() const {
  const auto exclusive = resources_.requests().exclusive();
  Statistics result;
  resources_.report(result);
  result.profile = choice_.profile_name();
  result.entries = usage_.entries();
  result.setup_seconds = usage_.setup_seconds();
  result.sent_bytes.resize(static_cast<std::size_t>(size()));
  calls_.add_sent(result.sent_bytes);
  if (packed_ != nullptr) {
    packed_->add_sent(result.sent_bytes);
    result.stage_bytes += packed_->memory_bytes();
  }
  result.aside_bytes = aside_.capacity();
  return result;
}

}  // namespace weft
