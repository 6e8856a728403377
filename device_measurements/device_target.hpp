// Device target: measures a device by ranks on two nodes, in the ways in which weft uses it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device_measurements/disturbance.hpp"
#include "device_measurements/measurement_tasks.hpp"
#include "device_measurements/station.hpp"
#include "nic_profiles/fit/probe_target.hpp"

namespace weft::device_measurements {

/// Used by rank 0, while all others call serve(). Each result is the median of some 40 ms of
/// repeats, and of up to 240 ms where its interval is not tight before; after hurry(), of few. Once
/// a method has thrown, which ends serve() on all ranks, the target cannot be used any more.
class DeviceTarget final : public nic_profiles::ProbeTarget {
 public:
  /// Collective, as Station is. Calls `first` before anything else; if that throws, all ranks end.
  explicit DeviceTarget(Bootstrap& bootstrap, const std::function<void()>& first = {});
  /// Ends serve() on the other ranks.
  ~DeviceTarget() override;

  nic_profiles::DeviceName device() const { return station_.device(); }

  nic_profiles::Profile identity() const override;
  std::string source() const override;
  int most_pairs() const override { return station_.pairs(); }
  std::uint64_t most_touched_bytes() const override { return station_.cold_bytes(); }
  nic_profiles::CoreUse core_use() const override;
  void hurry() override { hurries_ = true; }
  nic_profiles::Estimate latency(std::uint64_t bytes) override;
  nic_profiles::Estimate steady(const nic_profiles::Stream& stream) override;
  nic_profiles::Estimate send_busy(std::uint64_t bytes, nic_profiles::Memory into) override;
  nic_profiles::Estimate copy(const nic_profiles::Copy& copy) override;
  nic_profiles::Estimate signal() override;
  nic_profiles::Estimate turn() override;
  nic_profiles::Estimate call(std::uint64_t bytes) override;
  nic_profiles::Estimate reduce(std::uint64_t bytes) override;
  nic_profiles::Estimate registration(std::uint64_t bytes) override;

 private:
  using Answers = std::vector<std::vector<double>>;  // of each rank
  Answers ask(const Task& task);
  nic_profiles::Estimate take(Task task);
  double gap_ns(const nic_profiles::Stream& stream);
  nic_profiles::Estimate repeated(const nic_profiles::Stream& stream, double first_ns,
                                  double lasts_ns);

  mutable Station station_;
  Disturbance disturbance_;
  double load_ = 0;  // of the machine, before
  bool hurries_ = false;
  bool failed_ = false;
};

/// Takes part in the measurements of rank 0, until its DeviceTarget is destroyed. Throws the same
/// error as DeviceTarget does, or a PeerError when rank 0 is gone.
void serve(Bootstrap& bootstrap);

}  // namespace weft::device_measurements
