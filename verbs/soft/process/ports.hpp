// Ports of the devices: their addresses, their attributes, and the device that an address names.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

namespace weft::soft {

constexpr std::uint16_t kFirstLid = 0x10;
constexpr std::uint16_t kPkey = 0xffff;

/// Node GUID of device `number`, in host byte order.
std::uint64_t device_guid(unsigned number) noexcept;

/// Entries of a port's GID table: 1 on InfiniBand; on Ethernet a link-local and an IPv4-mapped
/// address, each as RoCE v1 and v2.
int gid_count() noexcept;
/// `index` is in range.
ibv_gid gid_of(unsigned device, int index) noexcept;
ibv_gid_type gid_type(int index) noexcept;

/// The device that an address vector leads to; nullopt when there is none.
std::optional<unsigned> device_at(const ibv_ah_attr& address) noexcept;

/// True when the port and the indices that an address vector names exist; its destination need not.
bool valid_address(const ibv_ah_attr& address) noexcept;

void describe_port(unsigned device, bool up, ibv_port_attr& port) noexcept;
void describe_device(unsigned device, ibv_device_attr& attributes) noexcept;

}  // namespace weft::soft
