#include "comm/calls/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "base/give_way.hpp"

namespace weft::comm {

using plan::Collective;
using plan::Problem;

namespace {

/// Of a scatter or gather of blocks of different sizes.
bool is_rooted(const Call& call) {
  return !call.problem.layout.empty() && call.problem.collective != Collective::allgather;
}

}  // namespace

/// Shows others that ranks agree on a call, as long as it lives.
class Calls::SetUp {
 public:
  SetUp(engine::Executor& executor, const Problem& problem, std::uint64_t bytes)
      : poster_(executor.poster()) {
    poster_.begin_setup(
        engine::board::pack(static_cast<std::uint8_t>(problem.collective), 0, problem.root), bytes);
  }
  SetUp(const SetUp&) = delete;
  SetUp& operator=(const SetUp&) = delete;
  ~SetUp() { poster_.end_setup(); }

 private:
  engine::board::Poster& poster_;
};

const SharedCall& Calls::call_for(const Task& task) {
  if (task.irregular) return rooted_call_for(task.problem);
  if (task.problem.collective == Collective::alltoallv) return vector_call_for(task);
  if (last_ != nullptr && (*last_)->problem == task.problem) return *last_;
  return block_call_for(task);
}

const SharedCall& Calls::block_call_for(const Task& task) {
  const SharedCall* const found = find_block_call(task.problem);
  return found != nullptr ? *found : prepare(task.problem, preparation_.by_kernel(task));
}

/// Null: it is new. Else the last one.
const SharedCall* Calls::find_block_call(const Problem& problem) {
  last_ = nullptr;
  const bool has_one_size = problem.layout.empty();
  if (has_one_size && generation_ == preparation_.generation()) {
    const auto kept = kept_.find(problem);
    if (kept != kept_.end()) return last_ = &kept->second;
  }
  if (const SharedCall* renumbered = preparation_.find(problem)) return last_ = renumbered;
  for (CallCache* cache : {&of_classes_, &agreed_}) {
    if (const SharedCall* known = cache->find(problem)) return last_ = known;
  }
  return nullptr;
}

/// A new one. Collective.
const SharedCall& Calls::prepare(const Problem& problem, unsigned by_kernel) {
  const SetUp shown(resources_.executor(), problem, problem.block_bytes);
  SharedCall made = preparation_.prepare(problem, by_kernel);
  ++changes_;
  forget_old_classes();
  if (made == nullptr) return *(last_ = preparation_.find(problem));
  const std::size_t steps = made->slice->program.steps().size();
  CallCache& cache = made->is_of_class ? of_classes_ : agreed_;
  last_ = &cache.keep(std::move(made), &cache == &agreed_ ? 1 : 1 + steps);
  end_set_up();
  return *last_;
}

bool Calls::is_known(const Task& task) {
  const Problem& problem = task.problem;
  if (task.irregular) return find_rooted(problem) != rooted_.end();
  if (problem.collective == Collective::alltoallv) return vector_ != nullptr;
  return (last_ != nullptr && (*last_)->problem == problem) || find_block_call(problem) != nullptr;
}

void Calls::refuse_if_new(const Task& task, Communicator::IfNew what) {
  const Problem& problem = task.problem;
  const bool puts_off = what == Communicator::IfNew::put_off;
  if ((puts_off && !may_be_left_early(problem.collective)) || is_known(task)) return;
  if (puts_off && put_off_.size() < kMostPutOff) {
    put_off_.push_back({problem, preparation_.by_kernel(task), task.irregular});
  }
  throw NotPrepared(fmt::format("{}: not prepared yet",
                                task.irregular ? describe_irregular(problem) : describe(problem)));
}

void Calls::prepare_put_off() {
  for (const PutOff& one : std::exchange(put_off_, {})) {
    if (one.irregular) {
      if (find_rooted(one.problem) == rooted_.end()) prepare_rooted(one.problem);
    } else if (find_block_call(one.problem) == nullptr) {
      prepare(one.problem, one.by_kernel);
    }
  }
  last_ = nullptr;
}

/// Where the preparation has forgotten its classes; each rank has kept other calls of them.
void Calls::forget_old_classes() {
  if (generation_ == preparation_.generation()) return;
  last_ = nullptr;
  of_classes_.clear();
  kept_.clear();
  kept_steps_ = 0;
  generation_ = preparation_.generation();
}

Communicator::Made Calls::keep_last() noexcept {
  if (last_ == nullptr || !(*last_)->is_plain) return {};
  if (!(*last_)->is_kept && (*last_)->is_of_class) {
    // Of blocks of different sizes it may be another one than last_.
    const auto kept = kept_.find((*last_)->problem);
    if (kept != kept_.end()) {
      last_ = &kept->second;
    } else if (!keep(*last_)) {
      return {};
    }
  }
  const Call& call = **last_;
  // Its numbers become those of the next call.
  if (!call.is_kept && is_rooted(call)) return {};
  return {&call, call.is_kept ? kept_since() : changes() | kOnlyLast};
}

/// False where there is no memory for it. It is not kept where there are too many.
bool Calls::keep(const SharedCall& call) noexcept {
  const std::size_t steps = call->slice->program.steps().size();
  if (kept_.size() >= kMostKept || kept_steps_ + steps > kMostKeptSteps) return true;
  try {
    last_ = &kept_.emplace(call->problem, call).first->second;
  } catch (const std::bad_alloc&) {
    return false;
  }
  (*last_)->is_kept = true;
  kept_steps_ += steps;
  return true;
}

Calls::Rooted::iterator Calls::find_rooted(const Problem& problem) {
  return rooted_.find({problem.collective, problem.root});
}

/// Collective.
Calls::Rooted::iterator Calls::prepare_rooted(const Problem& problem) {
  choice_.note_other_than(
      RootedExchange::kAlgorithm, problem.collective,
      fmt::format("{} of blocks of different sizes", to_string(problem.collective)),
      "only the root knows all sizes, so it exchanges with each rank directly");
  const SetUp shown(resources_.executor(), problem, 0);
  preparation_.meet(problem);
  const std::pair key{problem.collective, problem.root};
  const auto made = rooted_.try_emplace(key, resources_, problem.root).first;
  end_set_up();
  return made;
}

const SharedCall& Calls::rooted_call_for(const Problem& problem) {
  resources_.members().require_no_poison();
  auto found = find_rooted(problem);
  if (found == rooted_.end()) found = prepare_rooted(problem);
  forget_old_classes();
  const auto kept = kept_.find(problem);
  last_ = kept != kept_.end() ? &kept->second : &found->second.call_for(problem);
  const SharedCall& call = *last_;
  if (call->entry == kNoEntry) {
    const std::uint64_t own_bytes = problem.block(resources_.rank()).bytes;
    call->entry = usage_.entry_for(problem.collective, RootedExchange::kAlgorithm, own_bytes);
  }
  return call;
}

const SharedCall& Calls::vector_call_for(const Task& task) {
  resources_.members().require_no_poison();
  const bool is_first = vector_ == nullptr;
  std::optional<SetUp> shown;
  if (is_first) {
    shown.emplace(resources_.executor(), task.problem, 0);
    preparation_.meet(task.problem);
    choice_.note_passed_over(task.problem);
    const auto asked = choice_.algorithm_for(task.problem);
    vector_ = std::make_unique<VectorExchange>(resources_, asked, choice_.slots_for(asked), task);
  }
  const SharedCall& call = vector_->call_for(task);
  shown.reset();
  if (is_first) end_set_up();
  if (call->entry == kNoEntry) {
    const auto ranks = static_cast<std::uint64_t>(resources_.size());
    call->entry =
        usage_.entry_for(Collective::alltoallv, vector_->algorithm(), call->input_bytes / ranks);
  }
  return call;
}

const SharedCall& Calls::neighbour_call_for(std::span<const Edge> out, std::span<const Edge> in) {
  resources_.members().require_no_poison();
  const bool is_first = neighbours_ == nullptr;
  if (is_first) {
    Problem problem;
    problem.collective = Collective::alltoallv;
    problem.ranks = resources_.size();
    preparation_.meet(problem);
    choice_.note_other_than(NeighbourExchange::kAlgorithm, Collective::alltoallv,
                            "neighbourhood exchange",
                            "a rank knows its own edges only, so it exchanges with each neighbour "
                            "directly");
    neighbours_ = std::make_unique<NeighbourExchange>(resources_);
  }
  const SharedCall& call = neighbours_->call_for(out, in);
  if (is_first) end_set_up();
  if (call->entry == kNoEntry) {
    call->entry = usage_.entry_for(Collective::alltoallv, NeighbourExchange::kAlgorithm,
                                   call->input_bytes / std::max<std::size_t>(out.size(), 1));
  }
  return call;
}

/// On a fiber the program was elsewhere meanwhile.
void Calls::end_set_up() {
  if (!gives_way()) resources_.executor().arrive(usage_.end_set_up());
}

void Calls::add_sent(std::span<std::uint64_t> bytes) const {
  if (vector_ != nullptr) vector_->add_sent(bytes);
  if (neighbours_ != nullptr) neighbours_->add_sent(bytes);
  const std::uint64_t each = usage_.sent_to_each(bytes.size());
  for (std::uint64_t& one : bytes) one += each;
}

}  // namespace weft::comm
