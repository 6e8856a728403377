// Recorded calls: the kind of each of the program's calls, and the times of those that go the long
// way, where WEFT_TRACE asks for a recording.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "base/ticks.hpp"
#include "mpi/calls/repeats.hpp"
#include "mpi/recording/recorder.hpp"

namespace weft::mpi {

/// The kind of a call of the program: judges it, unless that has been done. Inside of weft.
std::uint32_t recorded_kind(Recorder& recorder, Call& call, Attached& attached, bool request,
                            bool served);

/// A call that the host serves, recorded as it begins: one that is not blocking (`request`), or one
/// that the host refuses.
void record_start_in_host(Call& call, bool request);

/// Scope of a blocking call of the program in the long way, to its end in weft or in the host.
class Recorded {
 public:
  /// `describe`: gives the call's Arguments, for calls that may be repeats; false: it is none.
  template <class Describe>
  Recorded(Call& call, Describe describe) {
    if (Recorder::get() == nullptr || Inside::here() || call.comm() == MPI_COMM_NULL) return;
    call_ = &call;
    is_described_ = describe(arguments_);
    begin_ = ticks();
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() {
    if (call_ != nullptr) add();
  }

  /// Weft has served it.
  void set_served() noexcept { is_served_ = true; }
  /// In a component of the host: the host serves it now, until end_in_host().
  void leave_to_host(Attached* attached);
  static void end_in_host(Attached& attached) noexcept;

 private:
  void add();
  std::uint32_t kind(Recorder& recorder, Attached* attached);

  Call* call_ = nullptr;
  Arguments arguments_;
  bool is_described_ = false;
  bool is_served_ = false;
  std::uint64_t begin_ = 0;
};

}  // namespace weft::mpi
