// Own job: weft's collectives on the ranks of a job, by one of its algorithms at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/setup/resources.hpp"
#include "engine/run/network.hpp"
#include "plan/problem.hpp"
#include "tune/chooser.hpp"
#include "tune/hosts/measured_job.hpp"
#include "tune/ranks/call_buffers.hpp"
#include "weft/weft.hpp"

namespace weft::tune {

/// Calls are as those of a program under the add-on: communicators share the device, and long
/// buffers lie in the shared heap. They name collectives and algorithms as `weft plan` does, with
/// the segment in the algorithm's name. Settings that would choose algorithms count no more in
/// this process (WEFT_TABLE, WEFT_ALLTOALL, ..).
class OwnJob final : public MeasuredJob {
 public:
  /// Collective.
  explicit OwnJob(std::unique_ptr<Bootstrap> bootstrap);

  Bootstrap& bootstrap() override { return *bootstrap_; }
  std::string host() const override;
  bool prepare(const MeasuredCall& call) override;
  std::vector<double> run(int calls) override;

  /// What weft knows of the ranks; its facts() hold as long as this lives.
  const Situation& situation() const noexcept { return situation_; }
  Facts facts() const;
  /// The problem whose calls are measured: reductions are sums of doubles, or "or" of bytes where
  /// the bytes are no whole doubles; roots are rank 0.
  plan::Problem problem(plan::Collective collective, std::uint64_t bytes) const;

  /// On rank 0: what is known of the adapter, or of the profile that WEFT_PROFILE names. Nothing
  /// where all ranks are on one node and it names none.
  struct Adapter {
    std::string name;     ///< for a decision table; "none" on one node
    std::string profile;  ///< as JSON; empty: none is known
  };
  const Adapter& adapter();
  /// On rank 0: the algorithm that weft takes by itself.
  Algorithm own_choice(const plan::Problem& problem);

 private:
  std::unique_ptr<Bootstrap> borrowed();

  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<comm::Resources> resources_;
  engine::Networks networks_{false};
  Situation situation_;
  Communicator meeting_;  // whose barrier begins each call
  std::optional<Adapter> adapter_;
  std::optional<Chooser> chooser_;
  std::optional<Communicator> comm_;  // of the call
  std::optional<CallBuffers> buffers_;
};

}  // namespace weft::tune
