// The probe's target that is a device: ranks on two nodes measure it as weft uses it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nic_profiles/fit/probe_target.hpp"
#include "probe/station.hpp"
#include "probe/task.hpp"

namespace weft::probe {

/// Of rank 0: the others serve(). Each answer is a median of as many repeats as fit into a time.
/// Once a method has thrown, which ends serve() everywhere, nothing more can be asked.
class DeviceTarget final : public nic_profiles::ProbeTarget {
 public:
  /// Collective, as Station is. `first` is run before anything else: where it throws, all end.
  explicit DeviceTarget(Bootstrap& bootstrap, const std::function<void()>& first = {});
  /// Lets the others go.
  ~DeviceTarget() override;

  nic_profiles::DeviceName device() const { return station_.device(); }

  nic_profiles::Profile identity() const override;
  std::string source() const override;
  int most_pairs() const override { return station_.pairs(); }
  std::uint64_t most_touched_bytes() const override { return station_.field_bytes(); }
  double latency_ns(std::uint64_t bytes) override;
  double steady_ns(const nic_profiles::Stream& stream) override;
  double send_busy_ns(std::uint64_t bytes, nic_profiles::Memory into) override;
  double copy_ns(const nic_profiles::Copy& copy) override;
  double signal_ns() override;
  double turn_ns() override;
  double call_ns(std::uint64_t bytes) override;
  double reduce_ns(std::uint64_t bytes) override;
  double register_ns(std::uint64_t bytes) override;

 private:
  using Answers = std::vector<std::vector<double>>;  // of each rank
  Answers ask(const Task& task);
  double median(Task task);
  double gap_ns(const nic_profiles::Stream& stream);

  mutable Station station_;
  bool failed_ = false;
};

/// What a rank other than 0 does while rank 0 probes: returns when it lets go. Throws the same
/// error as DeviceTarget does, or a PeerError when rank 0 is gone.
void serve(Bootstrap& bootstrap);

}  // namespace weft::probe
