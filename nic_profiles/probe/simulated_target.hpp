// Simulated target: runs the measurements as plans in the simulator, on a profile's hardware.
#pragma once

#include "nic_profiles/probe/probe_plans.hpp"

namespace weft::nic_profiles {

class SimulatedTarget final : public ProbeTarget {
 public:
  /// Two nodes with `pairs` ranks each.
  explicit SimulatedTarget(Profile profile, int pairs = 8);

  Profile identity() const override;
  std::string source() const override;
  int most_pairs() const override { return pairs_; }
  std::uint64_t most_touched_bytes() const override;
  Estimate latency(std::uint64_t bytes) override;
  Estimate steady(const Stream& stream) override;
  Estimate send_busy(std::uint64_t bytes, Memory into) override;
  Estimate copy(const Copy& copy) override;
  Estimate signal() override;
  Estimate turn() override;
  Estimate call(std::uint64_t bytes) override;
  Estimate reduce(std::uint64_t bytes) override;
  /// No plan registers memory: the profile's own numbers.
  Estimate registration(std::uint64_t bytes) override;

 private:
  double time_ns(const Exercise& exercise, const sim::Hardware& hardware) const;
  double time_ns(const Exercise& exercise) const { return time_ns(exercise, profile_.hardware); }

  Profile profile_;
  int pairs_;
};

}  // namespace weft::nic_profiles
