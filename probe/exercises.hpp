// One rank's part in each measurement.
#pragma once

#include <vector>

#include "probe/station.hpp"
#include "probe/task.hpp"

namespace weft::probe {

/// Does this rank's part and returns what it has measured: nothing where it only helps or looks on,
/// else a time in ns for each repeat. Of a stream, a rank that receives gives when the first
/// quarter of its messages was done and when all were, in ns on its node's clock, and how many were
/// done between; those that it sends count, too. Throws when it cannot be finished.
std::vector<double> perform(Station& station, const Task& task);

/// Where the `number`-th piece of so many bytes begins in memory of kLargest_bytes, apart from the
/// others as long as there is room.
std::uint64_t part(int number, std::uint64_t bytes);

/// How long it takes to look at the clock.
double clock_ns();

// What perform() chooses from.
std::vector<double> latency(Station& station, const Task& task);
std::vector<double> send_busy(Station& station, const Task& task);
std::vector<double> stream(Station& station, const nic_profiles::Stream& stream);
std::vector<double> copy(Station& station, const Task& task);
std::vector<double> signal(Station& station, const Task& task);
std::vector<double> turn(Station& station, const Task& task);
std::vector<double> call(Station& station, const Task& task);
std::vector<double> reduce(Station& station, const Task& task);
std::vector<double> registration(Station& station, const Task& task);

}  // namespace weft::probe
