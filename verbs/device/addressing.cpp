#include "verbs/device/addressing.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <tuple>

#include "base/error.hpp"

namespace weft::verbs {

namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_link_local(const ibv_gid& gid) noexcept {
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

/// The type in sysfs, for a libibverbs that has no call for it.
GidType type_from_files(const std::string& device, int port, int index) {
  std::ifstream file(
      fmt::format("/sys/class/infiniband/{}/ports/{}/gid_attrs/types/{}", device, port, index));
  std::string line;
  if (!std::getline(file, line)) return GidType::unknown;
  if (line == "RoCE v2") return GidType::roce_v2;
  return line == "IB/RoCE v1" ? GidType::roce_v1 : GidType::unknown;
}

GidType query_type(const Library& library, ibv_context* context, std::uint8_t port, int index) {
  ibv_gid_entry entry{};
  if (library.query_gid_entry == nullptr) {
    if (library.software) return GidType::unknown;
    return type_from_files(library.get_device_name(context->device), port, index);
  }
  if (library.query_gid_entry(context, port, static_cast<std::uint32_t>(index), &entry, 0,
                              sizeof entry) != 0) {
    return GidType::unknown;
  }
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) return GidType::roce_v2;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1 : GidType::infiniband;
}

std::string list(std::span<const GidEntry> entries) {
  std::string text;
  for (const GidEntry& entry : entries) {
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", entry.index, entry.text(),
                        to_string(entry.type));
  }
  return text.empty() ? "none" : text;
}

/// Names the settings that choose a GID.
std::string wish(const PortSettings& settings) {
  if (settings.gid_index) return fmt::format("WEFT_GID_INDEX={}", *settings.gid_index);
  std::string text;
  if (settings.gid_type != GidType::unknown) {
    text =
        settings.gid_type == GidType::roce_v2 ? "WEFT_GID_TYPE=roce-v2" : "WEFT_GID_TYPE=roce-v1";
  }
  if (settings.gid_family != GidFamily::unknown) {
    text += text.empty() ? "" : " ";
    text +=
        settings.gid_family == GidFamily::ipv4 ? "WEFT_GID_FAMILY=ipv4" : "WEFT_GID_FAMILY=ipv6";
  }
  return text;
}

bool is_allowed(const GidEntry& entry, const PortSettings& settings, bool ethernet) {
  if (settings.gid_index) return entry.index == *settings.gid_index;
  if (!ethernet) return true;
  return (settings.gid_type == GidType::unknown || settings.gid_type == entry.type) &&
         (settings.gid_family == GidFamily::unknown || settings.gid_family == entry.family());
}

ibv_mtu choose_mtu(const ibv_port_attr& attributes, const PortSettings& settings,
                   std::string_view port_name) {
  if (settings.mtu_bytes == 0) return attributes.active_mtu;
  if (settings.mtu_bytes > mtu_bytes(attributes.active_mtu)) {
    throw_usage("WEFT_MTU={}: {} uses {}", settings.mtu_bytes, port_name,
                mtu_bytes(attributes.active_mtu));
  }
  int mtu = IBV_MTU_256;
  while (mtu_bytes(static_cast<ibv_mtu>(mtu)) < settings.mtu_bytes) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}

std::vector<std::uint16_t> query_partitions(const Library& library, ibv_context* context,
                                            std::uint8_t port, const ibv_port_attr& attributes) {
  std::vector<std::uint16_t> keys(attributes.pkey_tbl_len);
  for (std::size_t index = 0; index < keys.size(); ++index) {
    __be16 key = 0;
    const int error = library.query_pkey(context, port, static_cast<int>(index), &key);
    // Without the key it would look as if the peer were in another partition.
    if (error != 0) throw SystemError("ibv_query_pkey", error > 0 ? error : errno);
    keys[index] = be16toh(key);
  }
  return keys;
}

}  // namespace

GidFamily GidEntry::family() const noexcept {
  return std::equal(kMapped.begin(), kMapped.end(), gid.raw) ? GidFamily::ipv4 : GidFamily::ipv6;
}

std::string GidEntry::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = family() == GidFamily::ipv4;
  ::inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid.raw + kMapped.size() : gid.raw, text.data(),
              text.size());
  return text.data();
}

std::string_view to_string(GidType type) noexcept {
  switch (type) {
    case GidType::infiniband:
      return "InfiniBand";
    case GidType::roce_v1:
      return "RoCE v1";
    case GidType::roce_v2:
      return "RoCE v2";
    case GidType::unknown:
      break;
  }
  return "type unknown";
}

std::vector<GidEntry> query_gids(const Library& library, ibv_context* context, std::uint8_t port,
                                 const ibv_port_attr& attributes) {
  std::vector<GidEntry> entries;
  for (int index = 0; index < attributes.gid_tbl_len; ++index) {
    GidEntry entry{index, {}, GidType::unknown};
    if (library.query_gid(context, port, index, &entry.gid) != 0) continue;
    if (entry.gid.global.subnet_prefix == 0 && entry.gid.global.interface_id == 0) continue;
    entry.type = query_type(library, context, port, index);
    entries.push_back(entry);
  }
  return entries;
}

GidEntry choose_gid(std::span<const GidEntry> entries, const PortSettings& settings, bool ethernet,
                    std::string_view port_name) {
  const auto rank = [ethernet](const GidEntry& entry) {
    return std::tuple(ethernet && entry.type != GidType::roce_v2,
                      ethernet && entry.family() != GidFamily::ipv4,
                      ethernet && is_link_local(entry.gid), entry.index);
  };
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : entries) {
    if (!is_allowed(entry, settings, ethernet)) continue;
    if (best == nullptr || rank(entry) < rank(*best)) best = &entry;
  }
  if (best != nullptr) return *best;
  const std::string wanted = wish(settings);
  if (!wanted.empty()) {
    throw_usage("{}: {} has no such GID; there are: {}", wanted, port_name, list(entries));
  }
  return {-1, {}, GidType::unknown};
}

int choose_partition(std::span<const std::uint16_t> keys, const PortSettings& settings,
                     std::string_view port_name) {
  constexpr std::uint16_t kFullMember = 0x8000;
  const auto first = [&](auto is_right) {
    const auto found = std::ranges::find_if(keys, is_right);
    return found == keys.end() ? -1 : static_cast<int>(found - keys.begin());
  };
  if (settings.partition) {
    const int named = first([&](std::uint16_t key) {
      return key != 0 && ((key ^ *settings.partition) & ~kFullMember) == 0;
    });
    if (named >= 0) return named;
    std::string there;
    for (const std::uint16_t key : keys) {
      if (key != 0) there += fmt::format("{}{:#06x}", there.empty() ? "" : ", ", key);
    }
    throw_usage("WEFT_PKEY={:#06x}: {} has no such P_Key; there are: {}", *settings.partition,
                port_name, there.empty() ? "none" : there);
  }
  const int full = first([&](std::uint16_t key) { return (key & kFullMember) != 0; });
  const int set = first([](std::uint16_t key) { return key != 0; });
  return full >= 0 ? full : std::max(set, 0);
}

int mtu_bytes(ibv_mtu mtu) noexcept {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

std::string PortAddress::describe() const {
  const std::string where =
      gid.index < 0 ? std::string("no GID")
                    : fmt::format("GID {} {} ({})", gid.index, gid.text(), to_string(gid.type));
  return fmt::format("{}{}, P_Key {:#06x}, MTU {}",
                     ethernet ? std::string() : fmt::format("LID {}, ", lid), where, partition,
                     mtu_bytes(mtu));
}

PortAddress resolve_address(const Library& library, ibv_context* context, std::uint8_t port,
                            const ibv_port_attr& attributes, const PortSettings& settings,
                            std::string_view port_name) {
  PortAddress address;
  address.lid = attributes.lid;
  address.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  address.global_required = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  address.gid = choose_gid(query_gids(library, context, port, attributes), settings,
                           address.ethernet, port_name);
  if (address.ethernet && address.gid.index < 0) {
    throw Error(fmt::format("{}: has no GID; give its network interface an address", port_name));
  }
  const auto keys = query_partitions(library, context, port, attributes);
  address.partition_index = choose_partition(keys, settings, port_name);
  if (!keys.empty()) address.partition = keys[static_cast<std::size_t>(address.partition_index)];
  address.mtu = choose_mtu(attributes, settings, port_name);
  return address;
}

}  // namespace weft::verbs
