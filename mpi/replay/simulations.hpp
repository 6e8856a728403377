// Simulations: the choices for calls, each done once for calls that differ in nothing that counts.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "mpi/replay/replay.hpp"

namespace weft::mpi {

/// A call there.
struct CallThere {
  plan::Collective collective = plan::Collective::barrier;
  std::uint64_t bytes = 0;  // of a block or vector
  std::uint64_t element_bytes = 1;
  bool commutative = true, associative = false;
  int root = 0;
  std::size_t machine = 0;  // of Simulations::machine()

  auto operator<=>(const CallThere&) const = default;
};

class Simulations {
 public:
  explicit Simulations(const Target& target) : target_(target) {}

  /// The number of the machine that these ranks of the target are.
  std::size_t machine(const std::vector<int>& members);
  Shape shape(std::size_t machine) const;
  /// Calls to be simulated.
  void add(const CallThere& call) { choices_.try_emplace(call); }
  void run(const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);
  /// After run(): the fastest first.
  const std::vector<Choice>& choices(const CallThere& call) const { return choices_.at(call); }
  std::size_t count() const { return choices_.size(); }

 private:
  std::vector<Choice> simulate(const CallThere& call) const;
  std::string taken_on_one_node(const plan::Problem& problem, const tune::Facts& facts) const;

  const Target& target_;
  std::vector<hierarchy::Machine> machines_;
  std::map<std::vector<int>, std::size_t> numbers_;  // by node and domain of each rank
  std::map<CallThere, std::vector<Choice>> choices_;
};

}  // namespace weft::mpi
