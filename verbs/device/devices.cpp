#include "verbs/device/devices.hpp"

#include <endian.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "verbs/device/addressing.hpp"

namespace weft::verbs {

namespace {

std::string failure(std::string_view call, int error) {
  return fmt::format("{}: {}", call, std::strerror(error));
}

std::string state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_NOP:
      return "no state";
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "initializing";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active, deferred";
  }
  return fmt::format("state {}", static_cast<int>(state));
}

std::string link_layer_name(std::uint8_t layer) {
  if (layer == IBV_LINK_LAYER_INFINIBAND) return "InfiniBand";
  if (layer == IBV_LINK_LAYER_ETHERNET) return "Ethernet";
  return "unspecified";
}

Port query_port(const Library& library, ibv_context* context, int number) {
  Port port;
  port.number = number;
  const auto id = static_cast<std::uint8_t>(number);
  ibv_port_attr attributes{};
  if (const int error = library.query_port(context, id, &attributes); error != 0) {
    port.error = failure("ibv_query_port", error);
    return port;
  }
  port.state = state_name(attributes.state);
  port.link_layer = link_layer_name(attributes.link_layer);
  port.lid = attributes.lid;
  port.mtu_bytes = mtu_bytes(attributes.active_mtu);
  port.max_mtu_bytes = mtu_bytes(attributes.max_mtu);
  for (const GidEntry& entry : query_gids(library, context, id, attributes)) {
    port.gids.push_back({entry.index, entry.text(), std::string(to_string(entry.type))});
  }
  return port;
}

Device query_device(const Library& library, ibv_device* handle) {
  Device device;
  device.name = library.get_device_name(handle);
  errno = 0;
  const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(library.open_device(handle),
                                                                    library.close_device);
  if (context == nullptr) {
    device.error = failure("ibv_open_device", errno);
    return device;
  }
  ibv_device_attr attributes{};
  if (const int error = library.query_device(context.get(), &attributes); error != 0) {
    device.error = failure("ibv_query_device", error);
    return device;
  }
  const std::uint64_t guid = be64toh(attributes.node_guid);
  device.guid = fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff,
                            guid >> 16 & 0xffff, guid & 0xffff);
  device.firmware = attributes.fw_ver;
  for (int number = 1; number <= attributes.phys_port_cnt; ++number) {
    device.ports.push_back(query_port(library, context.get(), number));
  }
  return device;
}

}  // namespace

std::vector<Device> query_devices(const Library& library) {
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(library.get_device_list(&count),
                                                                  library.free_device_list);
  std::vector<Device> devices;
  if (list == nullptr) return devices;
  for (int i = 0; i < count; ++i) devices.push_back(query_device(library, list.get()[i]));
  return devices;
}

}  // namespace weft::verbs
