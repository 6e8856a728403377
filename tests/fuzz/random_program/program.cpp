#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include "arrivals.hpp"
#include "message.hpp"
#include "tests/mpi/program/complete.h"

namespace weft::test {

namespace {

constexpr std::size_t kMostPending = 24;

const char* name_of(Form form) {
  if (form == Form::blocking) return "";
  return form == Form::nonblocking ? "nonblocking " : "persistent ";
}

}  // namespace

Program::Program(std::uint64_t number, const Choice& choice, const Communicator& world)
    : number_(number),
      choice_(choice),
      own_({number, static_cast<std::uint64_t>(world.rank), 1}),
      world_rank_(world.rank) {
  slots_[0] = world;
  ways_[0] = "MPI_COMM_WORLD";
}

Program::Step Program::draw_step(int number, Random& random) const {
  constexpr std::array kWhat = {
      What::make,       What::make,       What::make,       What::free,       What::collective,
      What::collective, What::collective, What::collective, What::collective, What::collective,
      What::collective, What::collective, What::collective, What::message,    What::again,
      What::complete,   What::complete,   What::delay};
  constexpr std::array kForms = {Form::blocking,    Form::blocking,    Form::nonblocking,
                                 Form::nonblocking, Form::nonblocking, Form::persistent};
  Step step;
  step.number = number;
  step.what = kWhat[random.next() % kWhat.size()];
  step.slot = random.below(kSlots);
  step.parent = random.below(kSlots);
  step.form = kForms[random.next() % kForms.size()];
  step.seed = random.next();
  if (number < 2) step.what = What::make;
  if (step.what == What::make || step.what == What::free) step.slot = 1 + step.slot % (kSlots - 1);
  if (step.parent == step.slot || number < 2) step.parent = 0;
  if (choice_.limits.blocking_only) step.form = Form::blocking;
  if (step.form == Form::persistent && !choice_.limits.persistent) step.form = Form::nonblocking;
  return step;
}

bool Program::is_started(const Step& step) const {
  const bool blocks = slots_[static_cast<std::size_t>(step.slot)].is_hosts;
  const bool starts = step.what == What::message || (step.what == What::collective && !blocks);
  return starts && step.form == Form::nonblocking;
}

int Program::run() {
  Random random({number_});
  const int many = 4 + random.below(kMostSteps - 4);
  std::vector<Step> run;
  for (int i = 0; i < many; ++i) {
    Random of_step({number_, static_cast<std::uint64_t>(i), 2});
    const Step step = draw_step(i, of_step);
    if (choice_.steps && !choice_.steps->contains(i)) continue;
    if (is_started(step)) {
      run.push_back(step);
      continue;
    }
    take_in_any_order(std::exchange(run, {}));
    take(step);
  }
  take_in_any_order(std::exchange(run, {}));
  for (int slot = 1; slot < kSlots; ++slot) free_slot(slot);
  complete(active(true));
  for (Pending& each : pending_) {
    if (each.request != MPI_REQUEST_NULL) MPI_Request_free(&each.request);
    each.call->free_handles();
  }
  return faults_;
}

void Program::take_in_any_order(std::vector<Step> run) {
  if (pending_.size() > kMostPending) complete(active(true));
  for (std::size_t pass = 0; pass < run.size(); ++pass) {
    for (std::size_t i = 0; i + 1 < run.size(); ++i) {
      if (run[i].slot != run[i + 1].slot && own_.one_in(2)) std::swap(run[i], run[i + 1]);
    }
  }
  for (const Step& step : run) {
    take(step);
    if (own_.one_in(4)) poll();
  }
}

void Program::arrive(const Step& step) {
  Arrivals::all().begin(world_rank_, number_, step.number);
  if (!choice_.limits.delays) return;
  const bool asked = step.what == What::delay;
  if (asked ? own_.one_in(2) : own_.one_in(16)) {
    const std::chrono::microseconds time(own_.below(asked ? 3000 : 500));
    if (own_.one_in(2)) {
      std::this_thread::sleep_for(time);
    } else {
      const auto end = std::chrono::steady_clock::now() + time;
      while (std::chrono::steady_clock::now() < end) continue;
    }
  }
}

void Program::take(const Step& step) {
  arrive(step);
  switch (step.what) {
    case What::make:
      return make(step);
    case What::free:
      return free_slot(step.slot);
    case What::collective:
      return collective(step);
    case What::message:
      return message(step);
    case What::again:
      return start_again(step);
    case What::complete:
      return complete_some();
    case What::delay:
      return poll();
  }
}

void Program::show(const Step& step, const std::string& text) const {
  if (!choice_.shows) return;
  const auto slot = static_cast<std::size_t>(step.slot);
  if (slots_[slot].rank != 0 && step.what != What::make) return;
  std::printf("program %llu, step %d, rank %d: slot %d (%s, %d ranks): %s%s\n",
              static_cast<unsigned long long>(number_), step.number, world_rank_, step.slot,
              ways_[slot].c_str(), slots_[slot].size, name_of(step.form), text.c_str());
  std::fflush(stdout);
}

void Program::make(const Step& step) {
  if (choice_.limits.settles) complete(active(true));
  free_slot(step.slot);
  const Communicator& parent = slots_[static_cast<std::size_t>(step.parent)];
  if (parent.handle == MPI_COMM_NULL || parent.is_inter) return;
  const auto slot = static_cast<std::size_t>(step.slot);
  const bool of_hosts = parent.is_hosts && parent.size > 1;
  slots_[slot] = described(make_communicator(parent, step.seed));
  const bool is_there = slots_[slot].handle != MPI_COMM_NULL;
  if (is_there && makes_neighbours(step.seed)) find_neighbours(slots_[slot]);
  slots_[slot].is_hosts |= of_hosts || is_hosts_way(step.seed);
  ways_[slot] = fmt::format("{} of slot {}", way_of_making(step.seed), step.parent);
  if (slots_[slot].rank == 0)
    show({.number = step.number, .what = step.what, .slot = step.slot}, "made");
}

/// Open MPI's own nonblocking collectives send on with a communicator that has been freed.
bool Program::is_over_before_free(const Pending& pending, int slot) const {
  const bool is_call = pending.step.what == What::collective && pending.step.slot == slot;
  if (!is_call || pending.form != Form::nonblocking) return false;
#ifdef OPEN_MPI
  if (pending.call->is_hosts()) return true;
#endif
  return !choice_.limits.frees_early;
}

void Program::free_slot(int slot) {
  Communicator& communicator = slots_[static_cast<std::size_t>(slot)];
  if (communicator.handle == MPI_COMM_NULL) return;
  std::vector<std::size_t> over;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (is_over_before_free(pending_[i], slot)) over.push_back(i);
  }
  complete(over);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].form == Form::persistent && pending_[i].step.slot == slot) kept.push_back(i);
  }
  std::vector<std::size_t> waited = kept;
  std::erase_if(waited, [&](std::size_t i) { return !pending_[i].is_active; });
  if (!waited.empty()) {
    // Positions are the same before and after: persistent ones stay.
    std::vector<MPI_Request> requests;
    for (const std::size_t i : waited) requests.push_back(pending_[i].request);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const std::size_t i : waited) finished(pending_[i]);
  }
  for (const std::size_t i : kept) {
    MPI_Request_free(&pending_[i].request);
    pending_[i].call->free_handles();
    pending_[i].call.reset();
  }
  drop_finished();
  MPI_Comm_free(&communicator.handle);
  communicator = Communicator{};
}

void Program::collective(const Step& as_drawn) {
  const Communicator& with = slots_[static_cast<std::size_t>(as_drawn.slot)];
  if (with.handle == MPI_COMM_NULL) return;
  Step step = as_drawn;
  // Open MPI's own nonblocking ones fail on a single rank, and on groups with derived datatypes.
  if (with.is_hosts) step.form = Form::blocking;
  std::shared_ptr<Call> call = draw_call(with, step.seed, {number_, step.number}, choice_.limits);
  if (step.form == Form::persistent && !call->can_persist()) step.form = Form::nonblocking;
  // Where a rank does not move its calls on, others may wait for it.
  const bool may_be_hosts = with.is_hosts || call->is_hosts() || !choice_.limits.frees_early;
  if (choice_.limits.settles && step.form == Form::blocking && may_be_hosts) complete(active(true));
  show(step, call->text());
  call->prepare(0);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = call->call(step.form, &request);
  if (code != MPI_SUCCESS) {
    ++faults_;
    std::fprintf(stderr, "FAILED: program %llu, step %d, rank %d: %s returns %d\n",
                 static_cast<unsigned long long>(number_), step.number, world_rank_,
                 call->text().c_str(), code);
  }
  if (step.form == Form::blocking) {
    check(*call, step, 0);
    return call->free_handles();
  }
  // Open MPI's persistent requests do not hold the datatypes that they use.
  const bool is_held = !with.is_hosts && !(step.form == Form::persistent && call->is_hosts());
  if (choice_.limits.frees_early && is_held && own_.one_in(3)) call->free_handles();
  pending_.push_back({call, request, step.form, step, 0, step.form == Form::nonblocking});
  if (step.form == Form::persistent) start_again(step);
}

void Program::message(const Step& step) {
  const Communicator& with = slots_[static_cast<std::size_t>(step.slot)];
  if (with.handle == MPI_COMM_NULL || with.is_inter) return;
  const auto message = std::make_shared<Message>(with, step.number, step.seed, choice_.limits);
  show(step, message->text());
  if (step.form == Form::blocking) {
    message->exchange();
    check(*message, step, 0);
    return message->free_handles();
  }
  Pending receive{message, message->receive(), Form::nonblocking, step, 0, true};
  Pending send{message, message->send(), Form::nonblocking, step, 1, true};
  pending_.push_back(receive);
  pending_.push_back(send);
}

void Program::start_again(const Step& step) {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Pending& each = pending_[i];
    if (each.form != Form::persistent || each.step.slot != step.slot) continue;
    if (each.is_active) {
      MPI_Wait(&each.request, MPI_STATUS_IGNORE);
      finished(each);
    }
    each.call->prepare(each.turn);
    each.is_active = true;
    if (own_.one_in(3)) {
      MPI_Startall(1, &each.request);
    } else {
      MPI_Start(&each.request);
    }
  }
}

std::vector<std::size_t> Program::active(bool all) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].is_active && (all || own_.one_in(2))) found.push_back(i);
  }
  return found;
}

void Program::complete(std::vector<std::size_t> which) {
  std::vector<MPI_Request> requests;
  for (const std::size_t i : which) requests.push_back(pending_[i].request);
  std::uint64_t how = own_.next();
  complete_all(static_cast<int>(requests.size()), requests.data(), &how);
  for (std::size_t i = 0; i < which.size(); ++i) {
    pending_[which[i]].request = requests[i];
    finished(pending_[which[i]]);
  }
  drop_finished();
}

void Program::complete_some() {
  complete(active(own_.one_in(3)));
}

void Program::poll() {
  std::vector<std::size_t> which = active(true);
  if (which.empty()) return;
  std::vector<MPI_Request> requests;
  std::vector<int> places(which.size());
  for (const std::size_t i : which) requests.push_back(pending_[i].request);
  int ended = 0;
  MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &ended, places.data(),
               MPI_STATUSES_IGNORE);
  for (int i = 0; i < ended; ++i) {
    const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(i)]);
    pending_[which[place]].request = requests[place];
    finished(pending_[which[place]]);
  }
  drop_finished();
}

void Program::finished(Pending& pending) {
  check(*pending.call, pending.step, pending.turn);
  pending.is_active = false;
  ++pending.turn;
  if (pending.form == Form::persistent) return;
  if (pending.request != MPI_REQUEST_NULL) {
    ++faults_;
    std::fprintf(stderr, "FAILED: program %llu, step %d, rank %d: a complete request is not null\n",
                 static_cast<unsigned long long>(number_), pending.step.number, world_rank_);
  }
  if (pending.call.use_count() == 1) pending.call->free_handles();
  pending.call.reset();
}

void Program::drop_finished() {
  std::erase_if(pending_, [](const Pending& each) { return each.call == nullptr; });
}

void Program::check(Call& call, const Step& step, std::uint64_t turn) {
  const std::string fault = call.fault();
  if (fault.empty()) return;
  ++faults_;
  const auto slot = static_cast<std::size_t>(step.slot);
  std::fprintf(stderr,
               "FAILED: program %llu, step %d, turn %llu, rank %d, slot %d (%s): %s%s: %s\n",
               static_cast<unsigned long long>(number_), step.number,
               static_cast<unsigned long long>(turn), world_rank_, step.slot, ways_[slot].c_str(),
               name_of(step.form), call.text().c_str(), fault.c_str());
}

}  // namespace weft::test
