// Facts about this machine that `weft info` shows: devices, topology, views, add-ons, settings.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/preload/addons.hpp"
#include "comm/setup/settings_table.hpp"
#include "engine/views/view.hpp"
#include "verbs/device/devices.hpp"

namespace weft::cli {

/// A library with the interface of libibverbs, and its devices.
struct LibraryInfo {
  std::string name;
  std::string path;
  std::string error;  // why it has no devices; else empty
  std::vector<verbs::Device> devices;
};

/// A port that weft would use.
struct RailInfo {
  std::string name;
  std::string device;  // "mlx5_0"
  bool is_software = false;
  std::string address;                  // for peers
  int numa_node = -1;                   // unknown
  int numa_distance = 0;                // from this thread's NUMA node; 10: the same node
  std::optional<int> profile_age_days;  // of the profile that a probe has kept; none: there is none
  bool profile_has_intervals = true;    // its probe knew whether the machine was quiet
};

/// A path by which the software device would move bytes between processes here.
struct SoftPath {
  std::string name;  // as WEFT_SOFT_PATH names it
  bool used = false;
  std::string what;  // the memory that it serves, or why it is not used; one line
};

/// All that `weft info` shows.
struct Info {
  std::vector<LibraryInfo> libraries;
  std::vector<RailInfo> rails;     // nearest first
  std::string device_error;        // why there are no rails
  std::string profile;             // used to choose algorithms between nodes
  bool profile_is_set = false;     // WEFT_PROFILE says which
  std::string registration_error;  // why registrations are not kept for later calls
  std::string host;
  int cores = 0;        // usable at once
  int bound_cores = 0;  // on which this process may run; more, where a quota is smaller
  std::string waiting;
  std::string topology;
  std::vector<engine::ViewReport> views;
  std::vector<SoftPath> soft_paths;
  std::vector<std::pair<std::string, Addon>> addons;
  std::vector<comm::Setting> settings;
  std::vector<std::string> problems;  // wrong settings, a line each
};

/// Asks the system. A device or file that is missing is text in the answer, no error.
Info gather_info();

}  // namespace weft::cli
