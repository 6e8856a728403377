// Devices and ports of a library, as descriptions for users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbs/device/library.hpp"

namespace weft::verbs {

struct Gid {
  int index = 0;
  std::string text;  // as an IP address
  std::string type;  // "RoCE v2", "InfiniBand"
};

struct Port {
  int number = 0;
  std::string error;       // of the query; then the rest is empty
  std::string state;       // "active", "down", ...
  std::string link_layer;  // "InfiniBand", "Ethernet", "unspecified"
  std::uint16_t lid = 0;
  int mtu_bytes = 0;      // in use
  int max_mtu_bytes = 0;  // that the port could use
  std::vector<Gid> gids;  // those that are set
};

struct Device {
  std::string name;
  std::string error;  // of opening or querying it; then the rest is empty
  std::string guid;   // "0011:2233:4455:6677"
  std::string firmware;
  std::vector<Port> ports;
};

/// Opens and queries each device of the library. Does not throw for a device that fails: its
/// `error` says why.
std::vector<Device> query_devices(const Library& library);

}  // namespace weft::verbs
