// Settings of a communicator from the environment, read in one place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/problem.hpp"
#include "verbs/device/port_settings.hpp"
#include "verbs/registration/registration_cache.hpp"

namespace weft::comm {

/// "WEFT_REDUCE_SCATTER".
std::string algorithm_variable(plan::Collective collective);

struct Settings {
  std::string nodes;    // WEFT_NODES: virtual nodes; empty: the real ones
  std::string sockets;  // WEFT_SOCKETS: virtual sockets; empty: the real ones
  /// WEFT_ALLTOALL, WEFT_BROADCAST, ..: an algorithm, by collective; none: chosen by size.
  std::map<plan::Collective, std::string> algorithms;
  std::string profile;           // WEFT_PROFILE: see tune::find_profile()
  std::string table;             // WEFT_TABLE: a decision table's file; empty: none
  bool deterministic = false;    // WEFT_DETERMINISTIC: reductions group alike on every placement
  bool progress_thread = false;  // WEFT_PROGRESS_THREAD
  verbs::PortSettings port;      // of the device that joins the nodes
  std::uint64_t eager_bytes = 8 << 10;      // WEFT_EAGER: larger messages go straight into place
  verbs::RegistrationLimits registrations;  // WEFT_REGISTRATION_CACHE: bytes kept registered
  std::uint64_t stage_bytes = 2 << 20;      // WEFT_STAGE: the most for data on its way, a rank
  /// WEFT_SHARED_HEAP: bytes of it, 0: as the machine allows; nullopt: the program has not asked.
  std::optional<std::uint64_t> heap_bytes;
  std::int64_t timeout_ns = 0;  // WEFT_TIMEOUT, in seconds; 0: none
  int stuck_signal = 0;         // WEFT_STUCK_SIGNAL: says why ranks stand still; 0: none
  bool check = false;           // WEFT_CHECK: ranks compare what they call
  /// WEFT_AFTER=0: add-ons serve a communicator from its first call on.
  bool from_first_call = false;
  /// WEFT_DEVICE_MEMORY: whether add-ons ask drivers of other processors for buffers; detect: where
  /// the machine has such a processor. Not an empty optional<bool>, whose value valgrind takes for
  /// used where a compiler selects it without a jump.
  enum class DeviceMemory : std::uint8_t { detect, off, on } device_memory = DeviceMemory::detect;
  bool cma = true;  // WEFT_CMA: long alltoalls read by system calls what lies outside of the heap
  bool crowded_given = false;  // WEFT_WAIT=spin or sleep; auto: asleep where ranks outnumber cores
  bool crowded = false;

  /// UsageError names the variable, its value and what is allowed.
  static Settings from_environment();
  /// The variables that decide which plans are made, and when: the same on every rank, or they do
  /// not fit.
  static std::vector<std::string> shared_variables();
};

}  // namespace weft::comm
