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
#include "mpi/requests/held.hpp"

namespace weft::mpi {

class Work {
 public:
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  MPI_Comm comm() const noexcept { return comm_; }
  /// The call, to be run once; valid until the next one is made. Null: it is the host's in any
  /// case.
  virtual Call* make_call() = 0;
  /// Starts it by the host's nonblocking function.
  virtual int start_at_host(MPI_Request* request) = 0;

 protected:
  explicit Work(MPI_Comm comm) noexcept : comm_(comm) {}

 private:
  MPI_Comm comm_;
};

/// A collective that weft may run. `Host`: the host's nonblocking function, which takes the
/// arguments and a request. `Make`: gives the Call of the arguments.
template <class Host, class Make, class... Arguments>
class CollectiveWork final : public Work {
  using Made = std::invoke_result_t<Make, Arguments...>;

 public:
  CollectiveWork(const Attached& attached, Host host, Make make, Arguments... arguments)
      : Work(attached.comm), host_(host), make_(make), arguments_(arguments...) {
    Made made = make(arguments...);
    made.keep(arrays_, attached);
    Handles handles;
    made.add_handles(handles, attached);
    handles.comm = attached.comm;
    held_.hold(std::move(handles));
    arguments_ = std::tuple<Arguments...>(arrays_.replace(arguments)...);
  }

  Call* make_call() override {
    call_.reset(new Made(std::apply(make_, arguments_)));
    return call_.get();
  }
  int start_at_host(MPI_Request* request) override {
    return std::apply([&](auto... arguments) { return host_(arguments..., request); }, arguments_);
  }

 private:
  Host host_;
  Make make_;
  std::tuple<Arguments...> arguments_;
  Arrays arrays_;
  Held held_;
  std::unique_ptr<Made> call_;
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

  Call* make_call() override { return nullptr; }
  int start_at_host(MPI_Request* request) override { return start_(request); }

 private:
  Start start_;
  Held held_;
};

}  // namespace weft::mpi
