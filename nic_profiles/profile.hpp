// NIC profile: the numbers of one adapter and of the node around it, each with its source.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware.hpp"

namespace weft::nic_profiles {

/// The class of an adapter: by how it moves data, and by the effect of more local senders (Kumar,
/// Mamidala and Panda, sections 2 and 3).
enum class Kind : std::uint8_t {
  onload,             ///< the sending core stores all messages into the adapter
  offload_degrading,  ///< the adapter fetches them; more senders at once get less in all
  offload_scaling,    ///< the adapter fetches them; more senders at once get as much or more
  hybrid,             ///< cores store small and medium messages, the adapter fetches large ones
};
inline constexpr std::array kKinds = {Kind::onload, Kind::offload_degrading, Kind::offload_scaling,
                                      Kind::hybrid};

/// "onload", "offload-degrading", "offload-scaling", "hybrid".
std::string_view to_string(Kind kind);

/// vendor_id and vendor_part_id that ibv_query_device gives for the adapter.
struct DeviceId {
  std::uint32_t vendor = 0;  ///< 0: an adapter without verbs
  std::vector<std::uint32_t> parts;

  bool operator==(const DeviceId&) const = default;
};

/// The interval in which a measured number lies, in 95 of 100 cases; of a list of senders, that of
/// the last total.
struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

struct Profile {
  static constexpr int kSchema = 1;  ///< of the JSON form

  std::string name;
  std::string adapter;  ///< maker, model, link
  DeviceId device;
  Kind kind = Kind::offload_scaling;
  sim::Hardware hardware;
  /// The source of each number, by its path, such as "adapter.post_ns".
  std::map<std::string, std::string> sources;
  /// The interval of each number that a probe has measured, by the same path.
  std::map<std::string, Interval> intervals;
};

/// Reads the JSON form, or the report of a probe, which contains it. `where` begins errors.
/// UsageError, one line of the form "WHERE: adapter.post_ns.value = -1: must be ...", on keys that
/// are missing, unknown or there twice, and on values out of range.
Profile parse(std::string_view where, std::string_view json);

/// The JSON form, which parse() reads back to the same profile.
std::string to_json(const Profile& profile);

/// The names of the catalogue, ascending.
std::vector<std::string> names();

/// The profile in the catalogue of that name, in any case; or that in a file, where the argument
/// has a '/' or ends with ".json". UsageError where there is none, and as parse() does;
/// SystemError when a file cannot be read.
Profile load(std::string_view name_or_path);

/// The name in the catalogue of the device with these IDs of ibv_query_device.
std::optional<std::string> find(std::uint32_t vendor, std::uint32_t part);

}  // namespace weft::nic_profiles
