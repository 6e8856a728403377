#include "nic_profiles/probe/simulated_target.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "sim/simulator.hpp"

namespace weft::nic_profiles {

namespace {
// One, as a queue pair may need longer between two messages than for a round trip.
constexpr int kRounds = 1;
constexpr std::uint64_t kMostTouched_bytes = 512 << 20;
}  // namespace

SimulatedTarget::SimulatedTarget(Profile profile, int pairs)
    : profile_(std::move(profile)), pairs_(pairs) {
  if (pairs < 1) throw_usage("probe of {} pairs: at least 1 is needed", pairs);
}

Profile SimulatedTarget::identity() const {
  Profile profile;
  profile.name = profile_.name;
  profile.adapter = profile_.adapter;
  profile.device = profile_.device;
  profile.hardware.adapter.eager_bytes = profile_.hardware.adapter.eager_bytes;
  profile.hardware.adapter.inline_bytes = profile_.hardware.adapter.inline_bytes;
  profile.hardware.adapter.in_order_placement = profile_.hardware.adapter.in_order_placement;
  profile.hardware.adapter.receiver_first = profile_.hardware.adapter.receiver_first;
  profile.hardware.host.cores = profile_.hardware.host.cores;
  profile.hardware.host.nodes = profile_.hardware.host.nodes;
  return profile;
}

std::string SimulatedTarget::source() const {
  return "probed on the simulated " + profile_.name;
}

double SimulatedTarget::time_ns(const Exercise& exercise, const sim::Hardware& hardware) const {
  const sim::Result result = sim::simulate(exercise.plan_of_rank, exercise.machine, hardware);
  return exercise.watched < 0 ? result.time_ns : result.finish_ns[exercise.watched];
}

Estimate SimulatedTarget::latency(std::uint64_t bytes) {
  return exact(time_ns(ping_pong(bytes, kRounds)) / (2 * kRounds));
}

std::uint64_t SimulatedTarget::most_touched_bytes() const {
  return kMostTouched_bytes;
}

/// The second half of twice as many messages: without the way of the first one.
Estimate SimulatedTarget::steady(const Stream& stream) {
  Stream twice = stream;
  twice.messages *= 2;
  const double once_ns = time_ns(nic_profiles::stream(stream));
  return exact(std::max(0.0, time_ns(nic_profiles::stream(twice)) - once_ns));
}

/// Into other memory than the library's nothing goes but straight: then the receiver has told
/// before where, and the word behind the message is none of it.
Estimate SimulatedTarget::send_busy(std::uint64_t bytes, Memory into) {
  sim::Hardware hardware = profile_.hardware;
  sim::Adapter& adapter = hardware.adapter;
  adapter.eager_bytes = sim::Adapter::kAllSizes;
  if (into == Memory::callers) {
    adapter.post_ns += adapter.into_caller_ns;
    if (adapter.into_caller_bytes_per_ns > 0) {
      adapter.pio_bytes_per_ns = adapter.into_caller_bytes_per_ns;
    }
  }
  return exact(time_ns(send_and_tell(bytes, true), hardware) -
               time_ns(send_and_tell(bytes, false), hardware));
}

Estimate SimulatedTarget::copy(const Copy& copy) {
  return exact(time_ns(nic_profiles::copy(copy, true)) - time_ns(nic_profiles::copy(copy, false)));
}

Estimate SimulatedTarget::signal() {
  return exact(time_ns(signals(kRounds)) / (2 * kRounds));
}

Estimate SimulatedTarget::turn() {
  sim::Hardware hardware = profile_.hardware;
  hardware.host.cores = hardware.host.nodes = 1;
  hardware.node.signal_ns = 0;  // it is in the cache of both
  return exact(time_ns(signals(kRounds), hardware) / (2 * kRounds));
}

Estimate SimulatedTarget::call(std::uint64_t bytes) {
  return exact(time_ns(nic_profiles::call(bytes, true)) -
               time_ns(nic_profiles::call(bytes, false)));
}

Estimate SimulatedTarget::reduce(std::uint64_t bytes) {
  return exact(time_ns(reduction(bytes, true)) - time_ns(reduction(bytes, false)));
}

Estimate SimulatedTarget::registration(std::uint64_t bytes) {
  const sim::Adapter& adapter = profile_.hardware.adapter;
  return exact(adapter.register_ns + adapter.register_ns_per_byte * static_cast<double>(bytes));
}

}  // namespace weft::nic_profiles
