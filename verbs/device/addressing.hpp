// Addressing of a port: the GID, P_Key and MTU that its connections use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/device/library.hpp"
#include "verbs/device/port_settings.hpp"

namespace weft::verbs {

/// An entry of a port's table of GIDs.
struct GidEntry {
  int index = 0;
  ibv_gid gid{};
  GidType type = GidType::unknown;

  GidFamily family() const noexcept;
  /// "10.9.0.1", "fe80::1".
  std::string text() const;
};

/// "RoCE v2", "InfiniBand".
std::string_view to_string(GidType type) noexcept;

/// The entries that are set, by index. The type is unknown where neither libibverbs nor sysfs has
/// it.
std::vector<GidEntry> query_gids(const Library& library, ibv_context* context, std::uint8_t port,
                                 const ibv_port_attr& attributes);

/// The entry to use. On Ethernet the best of those that the settings allow: RoCE v2 before other
/// types, IPv4 before IPv6, routable before link-local addresses, then the first. On InfiniBand the
/// first. UsageError when the settings allow none; an empty entry with index -1 when there is
/// none at all.
GidEntry choose_gid(std::span<const GidEntry> entries, const PortSettings& settings, bool ethernet,
                    std::string_view port_name);

/// Index of the P_Key to use: the one that the settings name, whatever its membership, else the
/// first full member, else the first that is set. `keys` are in host order, 0 where an entry is
/// empty. UsageError when the named one is not there.
int choose_partition(std::span<const std::uint16_t> keys, const PortSettings& settings,
                     std::string_view port_name);

/// 256 for IBV_MTU_256 (1) to 4096 for IBV_MTU_4096 (5); 0 for other values.
int mtu_bytes(ibv_mtu mtu) noexcept;

/// Addressing of a port's connections.
struct PortAddress {
  std::uint16_t lid = 0;
  bool ethernet = false;
  bool global_required = false;  // the subnet manager wants a global header in every packet
  GidEntry gid;
  int partition_index = 0;
  std::uint16_t partition = 0xffff;
  ibv_mtu mtu = IBV_MTU_256;

  /// "GID 1 10.9.0.1 (RoCE v2), P_Key 0xffff, MTU 4096".
  std::string describe() const;
};

/// UsageError names the setting that the port cannot follow.
PortAddress resolve_address(const Library& library, ibv_context* context, std::uint8_t port,
                            const ibv_port_attr& attributes, const PortSettings& settings,
                            std::string_view port_name);

}  // namespace weft::verbs
