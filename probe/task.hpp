// What the rank that drives a probe asks all ranks to do.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nic_profiles/fit/probe_target.hpp"

namespace weft::probe {

/// One measurement. Ranks send it to one another as it is: they are of one build.
struct Task {
  enum class Kind : std::uint8_t {
    end,  ///< nothing more
    latency,
    send_busy,
    stream,
    copy,
    signal,
    turn,
    call,
    reduce,
    registration,
  };

  Kind kind = Kind::end;
  std::uint64_t bytes = 0;
  nic_profiles::Memory into = nic_profiles::Memory::librarys;
  nic_profiles::Stream stream = {};
  nic_profiles::Copy copy = {};
  int repeats = 1;  ///< a stream is run once
};
static_assert(std::is_trivially_copyable_v<Task>);

}  // namespace weft::probe
