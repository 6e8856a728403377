#include "mpi/ompi_coll/core.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "comm/setup/settings_table.hpp"
#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/described.hpp"
#include "mpi/calls/neighbours.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/calls/vector_repeats.hpp"
#include "mpi/requests/pending_queue.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/requests.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/key_values.hpp"
#include "mpi/world/pmix.hpp"
#include "mpi/world/world.hpp"

namespace weft::mpi {

namespace {

using plan::Collective;

/// Decided by weft_core_start(), false from then on where weft has not started.
std::atomic<bool> may_serve = true;

// Of weft's own bootstrap, and of malloc, which only a preloaded library can serve.
constexpr std::array<std::string_view, 6> kOfOthers = {
    "WEFT_RANK",       "WEFT_SIZE", "WEFT_ROOT", "WEFT_SECRET_FILE", "WEFT_CONNECT_TIMEOUT",
    "WEFT_SHARED_HEAP"};

struct Parameters {
  std::vector<std::string> texts;
  std::vector<weft_setting> list;
};

Parameters make_parameters() {
  constexpr std::string_view kPrefix = "WEFT_";
  Parameters parameters;
  const std::vector<comm::Setting> settings = comm::settings();
  parameters.texts.reserve(3 * settings.size());  // pointers into them stay
  for (const comm::Setting& setting : settings) {
    if (std::ranges::find(kOfOthers, setting.name) != kOfOthers.end()) continue;
    std::string name = setting.name.substr(kPrefix.size());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto keep = [&parameters](std::string text) {
      return parameters.texts.emplace_back(std::move(text)).c_str();
    };
    parameters.list.push_back(
        {keep(setting.name), keep(name),
         keep(fmt::format("{} [{}]; as {}", setting.meaning, setting.fallback, setting.name))});
  }
  return parameters;
}

bool is_preloaded_too() {
  return dlsym(RTLD_DEFAULT, kPreloadedMark) != nullptr;
}

/// What belongs to the communicator; null: all calls are the host's.
Attached* attached_to(MPI_Comm comm, void** attached) {
  World* world = World::get();
  if (world == nullptr) return nullptr;
  if (*attached == nullptr) *attached = world->communicators().add(comm);
  return static_cast<Attached*>(*attached);
}

std::optional<int> serve(Call& call, void** attached) {
  Attached* const known = attached_to(call.comm(), attached);
  if (known == nullptr) return std::nullopt;
  return try_run(call, *known);
}

/// A function of the host: `function` with its module as the last argument.
template <class Function>
struct OfHost {
  Function* function;
  void* module;

  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    return function(arguments..., module);
  }
};
template <class Function>
OfHost(Function*, void*) -> OfHost<Function>;

/// Open MPI agrees on the number of a new communicator by nonblocking collectives over its parent:
/// by allreduces, of an inter-communicator by reductions to one rank and broadcasts. It begins them
/// from its progress engine, too, which may run inside of weft on one rank and outside on another:
/// they are always the host's. The report does not count them, as few are the program's.
bool may_be_of_host(Collective collective, const void* /*send*/, void* /*receive*/, int count,
                    MPI_Datatype type, MPI_Op op, MPI_Comm /*comm*/) {
  return collective == Collective::allreduce && count == 1 && type == MPI_INT &&
         (op == MPI_MAX || op == MPI_MIN);
}
bool may_be_of_host(Collective /*reduce*/, const void* /*send*/, void* /*receive*/, int count,
                    MPI_Datatype type, MPI_Op op, int /*root*/, MPI_Comm /*comm*/) {
  return count == 1 && type == MPI_INT && (op == MPI_MAX || op == MPI_MIN);
}
bool may_be_of_host(Collective /*broadcast*/, void* /*buffer*/, int count, MPI_Datatype type,
                    int /*root*/, MPI_Comm /*comm*/) {
  return count == 1 && type == MPI_INT;
}
template <class... Arguments>
bool may_be_of_host(Collective /*collective*/, const Arguments&... /*arguments*/) {
  return false;
}

/// Behind what is pending there, which may become the host's, too; also inside of weft.
template <class Host, class... Arguments>
int start_in_host(MPI_Request* request, const void* attached, Host host, MPI_Comm comm,
                  Arguments... arguments) {
  const auto start = [=](MPI_Request* of_host) { return host(arguments..., of_host); };
  const auto* known = static_cast<const Attached*>(attached);
  if (is_any_pending() && known != nullptr && known->pending != nullptr) {
    const auto work = std::make_shared<HostWork<decltype(start)>>(comm, start);
    if (auto call = known->pending->append(work)) return give_request(std::move(call), request);
  }
  return start(request);
}

template <Text name, class Host, class Make, class... Arguments>
int start_from(MPI_Request* request, void** attached, Host host, Make make, MPI_Comm comm,
               Arguments... arguments) {
  if (may_be_of_host(make(arguments...).collective(), arguments...)) {
    return start_in_host(request, *attached, host, comm, arguments...);
  }
  if (attached_to(comm, attached) == nullptr) return host(arguments..., request);
  return start_collective<name>(request, host, make, arguments...);
}

template <Text name, class Init, class Host, class Make, class... Arguments>
int init_from(MPI_Info info, MPI_Request* request, void** attached, Init init, Host host, Make make,
              MPI_Comm comm, Arguments... arguments) {
  if (attached_to(comm, attached) == nullptr) return init(arguments..., info, request);
  return init_collective<name>(comm, info, request, init, host, make, arguments...);
}

}  // namespace

}  // namespace weft::mpi

using weft::mpi::Blocks;
using weft::mpi::EdgeBlocks;
using weft::mpi::Repeats;
using weft::mpi::TypedBlocks;
using weft::mpi::VectorRepeats;
using weft::mpi::World;
using weft::plan::Collective;

const weft_setting* weft_core_settings(size_t* count) {
  try {
    static const weft::mpi::Parameters parameters = weft::mpi::make_parameters();
    *count = parameters.list.size();
    return parameters.list.data();
  } catch (const std::exception&) {
    *count = 0;
    return nullptr;
  }
}

bool weft_core_open() {
  if (weft::mpi::is_preloaded_too()) return weft::mpi::may_serve = false;
  weft::mpi::form = weft::mpi::Form::component;
  weft::mpi::keep_settings();
  weft::mpi::pmix::put();
  return weft::mpi::may_serve = !weft::mpi::is_disabled_here();
}

void weft_core_start(bool exchanged, const weft_host_facts* facts) {
  // Where the host's library of PMIx is not to be found, ranks cannot be asked about.
  if (exchanged && weft::mpi::pmix::symbol("PMIx_Get") != nullptr) {
    weft::mpi::pmix::end_fence(PMIX_SUCCESS);
  }
  World::start(facts);
  weft::mpi::may_serve = World::get() != nullptr;
  if (World::get() != nullptr && !World::has_several_threads()) {
    Repeats::turn_on();
    VectorRepeats::turn_on();
  }
}

void weft_core_finish() {
  weft::mpi::drain_all();
  Repeats::turn_off();
  VectorRepeats::turn_off();
  World::finish();
}

bool weft_core_may_serve() {
  return weft::mpi::may_serve.load(std::memory_order_relaxed);
}

void weft_core_served(void* attached) {
  if (World::get() == nullptr || attached == nullptr) return;
  auto& of_comm = *static_cast<weft::mpi::Attached*>(attached);
  of_comm.trial = {};
  weft::mpi::Recorded::end_in_host(of_comm);
}

void weft_core_free(void* attached) {
  World* world = World::get();
  if (world == nullptr || attached == nullptr) return;
  world->communicators().remove(static_cast<weft::mpi::Attached*>(attached),
                                !weft::mpi::Inside::here());
}

#define WEFT_DEFINE(Name, name, parameters, arguments, call)                                      \
  static auto make_##name parameters {                                                            \
    return call;                                                                                  \
  }                                                                                               \
  [[gnu::noinline]] static bool call_##name(WEFT_UNPACK parameters, void** attached, int* code) { \
    weft::mpi::drain(comm);                                                                       \
    auto weft_call = make_##name arguments;                                                       \
    weft::mpi::Recorded recorded(weft_call, [&](weft::mpi::Arguments& one) {                      \
      weft::mpi::BufferPair unused;                                                               \
      return weft::mpi::describe_call<#Name>(one, unused, WEFT_UNPACK arguments);                 \
    });                                                                                           \
    const std::optional<int> done = weft::mpi::serve(weft_call, attached);                        \
    weft::mpi::Arguments described;                                                               \
    weft::mpi::BufferPair buffers;                                                                \
    const bool is_described =                                                                     \
        weft::mpi::describe_call<#Name>(described, buffers, WEFT_UNPACK arguments);               \
    if (!done) {                                                                                  \
      if (is_described) Repeats::keep_left(described, buffers, weft_call);                        \
      recorded.leave_to_host(static_cast<weft::mpi::Attached*>(*attached));                       \
      return false;                                                                               \
    }                                                                                             \
    recorded.set_served();                                                                        \
    if (is_described) Repeats::keep(described, buffers, weft_call);                               \
    weft::mpi::keep_vector<#Name>(weft_call, WEFT_UNPACK arguments);                              \
    *code = *done;                                                                                \
    return true;                                                                                  \
  }                                                                                               \
  bool weft_core_##name(WEFT_UNPACK parameters, void** attached, int* code) {                     \
    weft::mpi::Arguments described;                                                               \
    weft::mpi::BufferPair buffers;                                                                \
    if (!weft::mpi::is_any_pending()) {                                                           \
      if (weft::mpi::describe_call<#Name>(described, buffers, WEFT_UNPACK arguments)) {           \
        if (const auto* known = Repeats::find(described, buffers)) {                              \
          *code = Repeats::run(*known, buffers.input, buffers.output);                            \
          if (*code != Repeats::kForgotten) return true;                                          \
        }                                                                                         \
        if (Repeats::leave(described, buffers) != nullptr) return false;                          \
      } else if (const auto done = weft::mpi::repeat_vector<#Name>(WEFT_UNPACK arguments)) {      \
        *code = *done;                                                                            \
        return true;                                                                              \
      }                                                                                           \
    }                                                                                             \
    return call_##name(WEFT_UNPACK arguments, attached, code);                                    \
  }                                                                                               \
  int weft_core_i##name(WEFT_UNPACK parameters, MPI_Request* request, void* module,               \
                        weft_start_##name* start, void** attached) {                              \
    return weft::mpi::start_from<#Name>(request, attached, weft::mpi::OfHost{start, module},      \
                                        make_##name, comm, WEFT_UNPACK arguments);                \
  }                                                                                               \
  int weft_core_##name##_init(WEFT_UNPACK parameters, MPI_Info info, MPI_Request* request,        \
                              void* module, weft_init_##name* init, weft_start_##name* start,     \
                              void** attached) {                                                  \
    return weft::mpi::init_from<#Name>(info, request, attached, weft::mpi::OfHost{init, module},  \
                                       weft::mpi::OfHost{start, module}, make_##name, comm,       \
                                       WEFT_UNPACK arguments);                                    \
  }

WEFT_DEFINE(Barrier, barrier, (MPI_Comm comm), (comm), weft::mpi::Barrier(comm))
#define WEFT_COLLECTIVE WEFT_DEFINE
#include "mpi/calls/collectives.inc"
#include "mpi/calls/neighbours.inc"
