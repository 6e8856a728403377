// Measurements of a probe: times, as they were taken.
#pragma once

#include <string>
#include <vector>

#include "nic_profiles/fit/probe_target.hpp"

namespace weft::nic_profiles {

/// A time by size.
struct Timing {
  std::uint64_t bytes = 0;
  double ns = 0;
  Spread spread = {};
};

struct StreamTiming {
  Stream stream;
  double ns = 0;
  Spread spread = {};

  /// Of all senders, both ways together.
  double messages_per_s() const { return messages() * 1e9 / ns; }
  double bytes_per_ns() const { return messages() * static_cast<double>(stream.bytes) / ns; }

 private:
  double messages() const {
    return static_cast<double>(stream.senders) * stream.messages * (stream.both_ways ? 2 : 1);
  }
};

struct CopyTiming {
  Copy copy;
  double ns = 0;
  Spread spread = {};
};

struct Measurements {
  Profile identity;       ///< as ProbeTarget gives it
  std::string source;     ///< likewise
  bool complete = false;  ///< false: stopped before all was measured

  std::vector<Timing> latency;      ///< half a round trip
  std::vector<Timing> send_busy;    ///< of the sending core, into the library's memory
  std::vector<Timing> into_caller;  ///< likewise, into a program's
  std::vector<StreamTiming> rates;  ///< of small messages
  std::vector<StreamTiming> bandwidths;
  std::vector<CopyTiming> copies;
  std::vector<Timing> reductions;
  std::vector<Timing> registrations;
  std::vector<Timing> calls;  ///< copies from a neighbour's memory
  // One or none each:
  std::vector<Estimate> signal;
  std::vector<Estimate> turn;  ///< a signal to a rank on the same core

  CoreUse use;  ///< of the cores, meanwhile
};

/// Calls visit(ns, spread) with the time of each measurement, in a fixed order.
template <class AnyMeasurements, class Visit>
void for_each_time(AnyMeasurements& taken, Visit visit) {
  const auto all = [&](auto& list) {
    for (auto& one : list) visit(one.ns, one.spread);
  };
  for (auto* list : {&taken.latency, &taken.send_busy, &taken.into_caller, &taken.reductions,
                     &taken.registrations, &taken.calls}) {
    all(*list);
  }
  for (auto* list : {&taken.rates, &taken.bandwidths}) all(*list);
  all(taken.copies);
  for (auto* list : {&taken.signal, &taken.turn}) all(*list);
}

}  // namespace weft::nic_profiles
