// Measurement tasks: the measurements, and the part of one rank in each of them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "device_measurements/station.hpp"
#include "nic_profiles/fit/probe_target.hpp"

namespace weft::device_measurements {

/// Task: one measurement, which rank 0 sends to all ranks. Sent as bytes: all run the same build.
struct Task {
  enum class Kind : std::uint8_t {
    end,  ///< ends serve()
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
  int repeats = 1;  ///< ignored by a stream
};
static_assert(std::is_trivially_copyable_v<Task>);

/// Does this rank's part of a task. Returns a time in ns for each repeat, or nothing on a rank that
/// only helps or takes no part. For a stream a receiving rank returns three numbers: the times at
/// which a quarter and all of its messages were done, in ns on its node's clock, and the number of
/// messages between (sent ones included). Throws when the task cannot be finished.
std::vector<double> perform(Station& station, const Task& task);

/// Offset of the `number`-th piece of so many bytes in memory of kLargest_bytes. Pieces overlap
/// only when there is no room for all.
std::uint64_t part(int number, std::uint64_t bytes);

/// Time of one call of the clock.
double clock_ns();

// The measurements by kind of task.
std::vector<double> latency(Station& station, const Task& task);
std::vector<double> send_busy(Station& station, const Task& task);
std::vector<double> stream(Station& station, const nic_profiles::Stream& stream);
std::vector<double> copy(Station& station, const Task& task);
std::vector<double> signal(Station& station, const Task& task);
std::vector<double> turn(Station& station, const Task& task);
std::vector<double> call(Station& station, const Task& task);
std::vector<double> reduce(Station& station, const Task& task);
std::vector<double> registration(Station& station, const Task& task);

}  // namespace weft::device_measurements
