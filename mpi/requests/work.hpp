// Work: a collective of the program with arguments of its own, to be run after its function has
// returned, or again and again.
#pragma once

#include <mpi.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mpi/calls/arguments.hpp"
#include "mpi/calls/call.hpp"
#include "mpi/calls/described.hpp"
#include "mpi/calls/vector_repeats.hpp"
#include "mpi/requests/held.hpp"

namespace weft::mpi {

class Work {
 public:
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  MPI_Comm comm() const noexcept { return comm_; }
  /// Whether it is the host's in any case.
  virtual bool is_of_host() const noexcept { return false; }
  /// The call, to be run once; valid until the next one is made. Null where it is of the host.
  virtual Call* make_call() = 0;
  /// Makes it as a repeat of an earlier call. Nullopt: it cannot, and nothing was done.
  virtual std::optional<Outcome> repeat() { return std::nullopt; }
  /// To be called when weft has just served what make_call() gave.
  virtual void keep_for_repeats(Call& /*call*/) {}
  /// What belongs to this call alone, instead of to its communicator: it comes in no order with
  /// others. Null: none.
  virtual Attached* own() noexcept { return nullptr; }
  /// Starts it in the host; a request that is persistent there stays this object's.
  virtual int start_at_host(MPI_Request* request) = 0;

 protected:
  explicit Work(MPI_Comm comm) noexcept : comm_(comm) {}

 private:
  MPI_Comm comm_;
};

/// What Repeats go by.
struct Repeated {
  Arguments arguments;
  BufferPair buffers;
};

/// A collective that weft may run, with copies of its arguments. `Make`: gives the Call of the
/// arguments.
template <class Make, class... Given>
class KeptWork : public Work {
  using Made = std::invoke_result_t<Make, Given...>;

 public:
  Call* make_call() final {
    call_.reset(new Made(std::apply(make_, arguments_)));
    return call_.get();
  }

 protected:
  KeptWork(const Attached& attached, Make make, Given... arguments)
      : Work(attached.comm), make_(make), arguments_(arguments...) {
    Made made = make(arguments...);
    made.keep(arrays_, attached);
    Handles handles;
    made.add_handles(handles, attached);
    handles.comm = attached.comm;
    held_.hold(std::move(handles));
    arguments_ = std::tuple<Given...>(arrays_.replace(arguments)...);
  }

  const std::tuple<Given...>& arguments() const noexcept { return arguments_; }

 private:
  Make make_;
  std::tuple<Given...> arguments_;
  Arrays arrays_;
  Held held_;
  std::unique_ptr<Made> call_;
};

/// A nonblocking one. `name`: of MPI's blocking function. `Host`: the host's nonblocking function,
/// which takes the arguments and a request.
template <Text name, class Host, class Make, class... Given>
class CollectiveWork final : public KeptWork<Make, Given...> {
  using Made = std::invoke_result_t<Make, Given...>;

 public:
  CollectiveWork(const Attached& attached, const Repeated& repeated, Host host, Make make,
                 Given... arguments)
      : KeptWork<Make, Given...>(attached, make, arguments...), repeated_(repeated), host_(host) {}

  std::optional<Outcome> repeat() override {
    if constexpr (may_repeat_vector<name>()) {
      return std::apply(
          [](auto... given) { return VectorRepeats::attempt(vector_arguments<name>(given...)); },
          this->arguments());
    }
    return may_repeat<name>() ? Repeats::attempt(repeated_.arguments, repeated_.buffers)
                              : std::nullopt;
  }
  void keep_for_repeats(Call& call) override {
    if constexpr (may_repeat_vector<name>()) {
      std::apply([&](auto... given) { keep_vector<name>(static_cast<Made&>(call), given...); },
                 this->arguments());
    }
    if (may_repeat<name>()) Repeats::keep(repeated_.arguments, repeated_.buffers, call);
  }

  int start_at_host(MPI_Request* request) override {
    return std::apply([&](auto... arguments) { return host_(arguments..., request); },
                      this->arguments());
  }

 private:
  Repeated repeated_;  // where calls of the function may be repeats
  Host host_;
};

/// A persistent one. It has a persistent request of the host, too, as the host has to number it
/// when it is made; where the host has none that may be used, it is started by `Host`.
template <Text name, class HostInit, class Host, class Make, class... Given>
class PersistentWork final : public KeptWork<Make, Given...> {
 public:
  PersistentWork(std::shared_ptr<Attached> own, Host host, Make make, Given... arguments)
      : KeptWork<Make, Given...>(*own, make, arguments...), own_(std::move(own)), host_(host) {
    describe_call<name>(repeated_.arguments, repeated_.buffers, arguments...);
  }
  ~PersistentWork() override {
    if (in_host_ != MPI_REQUEST_NULL) PMPI_Request_free(&in_host_);
    if (World* world = World::get()) world->communicators().remove_persistent(own_);
  }

  std::optional<Outcome> repeat() override {
    return known_ ? Repeats::attempt(*known_, repeated_.buffers) : std::nullopt;
  }
  void keep_for_repeats(Call& call) override {
    if (!may_repeat<name>()) return;
    known_ = Repeats::know(repeated_.arguments, repeated_.buffers, call, *own_);
  }
  int make_in_host(HostInit init, MPI_Info info) {
    if (!kHasPersistentCalls) return MPI_SUCCESS;
    return std::apply([&](auto... arguments) { return init(arguments..., info, &in_host_); },
                      this->arguments());
  }
  Attached* own() noexcept override { return own_.get(); }
  int start_at_host(MPI_Request* request) override {
    if (in_host_ == MPI_REQUEST_NULL) {
      return std::apply([&](auto... arguments) { return host_(arguments..., request); },
                        this->arguments());
    }
    const int code = PMPI_Start(&in_host_);
    *request = in_host_;
    return code;
  }

 private:
  std::shared_ptr<Attached> own_;
  Repeated repeated_;               // where calls of the function may be repeats
  std::optional<KnownCall> known_;  // likewise: of the last start that took the long way
  Host host_;
  MPI_Request in_host_ = MPI_REQUEST_NULL;
};

/// What only the host runs, behind other calls of the communicator that may still become its.
template <class Start>
class HostWork final : public Work {
 public:
  HostWork(MPI_Comm comm, Start start) : Work(comm), start_(std::move(start)) {
    Handles handles;
    handles.comm = comm;
    held_.hold(std::move(handles));
  }

  bool is_of_host() const noexcept override { return true; }
  Call* make_call() override { return nullptr; }
  int start_at_host(MPI_Request* request) override { return start_(request); }

 private:
  Start start_;
  Held held_;
};

}  // namespace weft::mpi
