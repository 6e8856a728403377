// Facts about this machine that `weft info` shows: devices, topology, views, add-ons, settings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/info/settings_table.hpp"
#include "cli/preload/addons.hpp"
#include "engine/views/view.hpp"
#include "verbs/device/devices.hpp"

namespace weft::cli {

/// A library with the interface of libibverbs, and its devices.
struct LibraryInfo {
  std::string name;
  std::string path;
  std::string error;  // why there are no devices of it
  std::vector<verbs::Device> devices;
};

/// A port that weft would use.
struct RailInfo {
  std::string name;
  std::string address;    // how peers would reach it
  int numa_node = -1;     // unknown
  int numa_distance = 0;  // from where this runs; 10 is near
};

/// A path by which the software device would move bytes between processes here.
struct SoftPath {
  std::string name;  // as WEFT_SOFT_PATH names it
  bool used = false;
  std::string what;  // for which memory, or why not; one line
};

/// All that `weft info` shows.
struct Info {
  std::vector<LibraryInfo> libraries;
  std::vector<RailInfo> rails;     // that weft would use, the nearest first
  std::string device_error;        // why none
  std::string profile;             // by which algorithms would be chosen between nodes
  std::string registration_error;  // why none is kept for later calls
  std::string host;
  int cores = 0;
  std::string waiting;
  std::string topology;
  std::vector<engine::ViewReport> views;
  std::vector<SoftPath> soft_paths;
  std::vector<std::pair<std::string, Addon>> addons;
  std::vector<Setting> settings;
  std::vector<std::string> problems;  // with the settings
};

/// Asks the system. A device or file that is missing is text in the answer, no error.
Info gather_info();

}  // namespace weft::cli
