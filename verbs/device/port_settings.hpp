// Port settings: the environment variables that choose ports and their use. Each setting has a
// default that follows from the ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::verbs {

enum class GidType : std::uint8_t { unknown, infiniband, roce_v1, roce_v2 };
enum class GidFamily : std::uint8_t { unknown, ipv4, ipv6 };

/// The way in which a rank finds what a peer has written to its inbox.
enum class Placement : std::uint8_t {
  unknown,
  polled,     ///< By reading the memory: for adapters that place a write's last bytes last.
  immediate,  ///< By completions: a write with immediate has one when all of it has arrived.
};

/// "mlx5_0:2" is port 2 of mlx5_0, "mlx5_0" all of its active ports, "soft" those of the software
/// device.
struct PortName {
  std::string device;
  int port = 0;  // 0: all that are active

  std::string text() const;
  bool operator==(const PortName&) const = default;
};

struct PortSettings {
  std::vector<PortName> ports;          // WEFT_DEVICE, in this order; empty: all that are alike
  std::optional<int> gid_index;         // WEFT_GID_INDEX
  GidType gid_type = GidType::unknown;  // WEFT_GID_TYPE; unknown: any, RoCE v2 first
  GidFamily gid_family = GidFamily::unknown;  // WEFT_GID_FAMILY; unknown: any, IPv4 first
  std::optional<std::uint16_t> partition;     // WEFT_PKEY; none: the first full member
  int mtu_bytes = 0;                          // WEFT_MTU; 0: what the port uses
  Placement placement = Placement::unknown;   // WEFT_PLACEMENT; unknown: as the adapter promises
  std::uint8_t service_level = 0;             // WEFT_SERVICE_LEVEL
  std::uint8_t traffic_class = 0;             // WEFT_TRAFFIC_CLASS, of routed packets
  std::uint8_t timeout = 16;                  // WEFT_RC_TIMEOUT: 4.096 us times 2 to this
  // WEFT_RC_RETRY. Not 7, the maximum: rxe retries without end then, and a peer that has ended
  // would never be noticed.
  std::uint8_t retries = 6;
  int recovery_s = 10;  // WEFT_RECOVERY: longest time that a connection may be broken; 0: none
  // The longest time that a connection may be broken while the peer's process is known to live; 0:
  // no limit. From the communicator's WEFT_TIMEOUT.
  std::int64_t absence_ns = 0;

  /// UsageError names the variable, its value and what is allowed.
  static PortSettings from_environment();
};

}  // namespace weft::verbs
