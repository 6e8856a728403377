// Settings of the device, from the environment.
#pragma once

#include "verbs/soft/faults/fault_plan.hpp"

namespace weft::soft {

/// Ways for bytes into memory of another process (and, when forced, of this one).
enum class Path {
  automatic,  // the first of the following that works
  direct,     // stores into memory that is mapped here
  cma,        // process_vm_writev and process_vm_readv
  agent,      // the target's agent thread copies
};

struct Settings {
  unsigned devices = 1;         // WEFT_SOFT_DEVICES, 1 to 8
  bool ethernet = false;        // WEFT_SOFT_LINK=infiniband|ethernet: the ports' link layer
  Path path = Path::automatic;  // WEFT_SOFT_PATH=auto|direct|cma|agent
  std::uint64_t max_mr_size = UINT64_MAX;     // WEFT_SOFT_MAX_MR_SIZE: bytes of a region at most
  std::uint64_t max_registered = UINT64_MAX;  // WEFT_SOFT_MAX_REGISTERED: of all regions together
  FaultPlan faults;                           // WEFT_SOFT_FAULTS, see fault_plan.cpp

  /// UsageError names the variable, its value and what is allowed.
  static Settings from_environment();
};

/// Read once, at the first call; a value that is not allowed is reported on standard error and
/// leaves the device list empty (`valid` is false).
const Settings& settings();
bool settings_valid();

}  // namespace weft::soft
