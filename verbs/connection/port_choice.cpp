#include "verbs/connection/port_choice.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/channel/wire.hpp"

namespace weft::verbs {

namespace {

constexpr int kNearest = 10;  // the distance of a NUMA node from itself

/// The devices and ports of the loaded libraries.
struct Found {
  std::vector<OpenPort> ports;  // the active ones
  std::vector<std::string> devices;
  std::string why;  // the last error of a library or a device
};

void add_device(const Library& library, ibv_device* handle, Found& found) {
  const std::string name = library.get_device_name(handle);
  found.devices.push_back(name);
  errno = 0;
  const std::shared_ptr<ibv_context> context(library.open_device(handle),
                                             [&library](ibv_context* opened) {
                                               if (opened != nullptr) library.close_device(opened);
                                             });
  if (context == nullptr) {
    found.why = SystemError(fmt::format("ibv_open_device({})", name), errno).what();
    log::warn("{}", found.why);
    return;
  }
  ibv_device_attr device{};
  if (const int error = library.query_device(context.get(), &device); error != 0) {
    found.why = SystemError(fmt::format("ibv_query_device({})", name), error).what();
    return;
  }
  for (int number = 1; number <= device.phys_port_cnt; ++number) {
    // An older libibverbs fills only the beginning of the attributes.
    OpenPort port{&library, name, context, static_cast<std::uint8_t>(number), {}};
    if (library.query_port(context.get(), port.number, &port.attributes) == 0 &&
        port.attributes.state == IBV_PORT_ACTIVE) {
      found.ports.push_back(std::move(port));
    } else {
      found.why = fmt::format("{} is not active", port.name());
      log::info("{}", found.why);
    }
  }
}

void add_library(const Library& (*load)(), Found& found) {
  try {
    const Library& library = load();
    int count = 0;
    ibv_device** list = library.get_device_list(&count);
    if (list == nullptr) {
      found.why = SystemError(fmt::format("ibv_get_device_list of {}", library.path), errno).what();
      return;
    }
    for (int i = 0; i < count; ++i) add_device(library, list[i], found);
    library.free_device_list(list);
  } catch (const Error& error) {
    found.why = error.what();
  }
}

std::string text_of(const std::vector<PortName>& names) {
  std::string text;
  for (const PortName& name : names) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", name.text());
  }
  return text;
}

/// The active ports that a name of WEFT_DEVICE means, all alike. UsageError when there is none.
std::vector<OpenPort> ports_of(const PortName& name, const Found& found, const std::string& all) {
  const bool soft = name.device == "soft";
  std::vector<OpenPort> result;
  for (const OpenPort& port : found.ports) {
    const bool named = soft ? port.library->software : port.device == name.device;
    if (!named || (name.port != 0 && name.port != port.number)) continue;
    if (result.empty() || result.front().is_like(port)) result.push_back(port);
  }
  if (!result.empty()) return result;
  if (std::ranges::find(found.devices, name.device) != found.devices.end()) {
    if (name.port == 0) throw_usage("WEFT_DEVICE={}: {} has no active port", all, name.device);
    throw_usage("WEFT_DEVICE={}: {} does not exist or is not active", all, name.text());
  }
  std::string devices;
  for (const std::string& one : found.devices) devices += (devices.empty() ? "" : ", ") + one;
  throw_usage("WEFT_DEVICE={}: there is no device {}; there are: {} (or: soft)", all, name.device,
              devices.empty() ? "none" : devices);
}

std::vector<OpenPort> named_ports(const std::vector<PortName>& names) {
  const std::string all = text_of(names);
  Found found;
  const bool only_soft =
      std::ranges::all_of(names, [](const PortName& name) { return name.device == "soft"; });
  if (!only_soft) add_library(&Library::system, found);
  add_library(&Library::soft, found);
  std::vector<OpenPort> result;
  for (const PortName& name : names) {
    for (OpenPort& port : ports_of(name, found, all)) {
      for (const OpenPort& other : result) {
        if (other.library == port.library && other.name() == port.name()) {
          throw_usage("WEFT_DEVICE={}: {} is named twice", all, port.name());
        }
        if (other.library != port.library ||
            other.attributes.link_layer != port.attributes.link_layer) {
          throw_usage("WEFT_DEVICE={}: {} and {} are not of one fabric", all, other.name(),
                      port.name());
        }
      }
      result.push_back(std::move(port));
    }
  }
  if (result.size() > kMaxRails) {
    throw_usage("WEFT_DEVICE={}: {} ports; at most {} can be used", all, result.size(), kMaxRails);
  }
  return result;
}

}  // namespace

std::string OpenPort::name() const {
  return fmt::format("{}:{}", device, number);
}

bool OpenPort::is_like(const OpenPort& other) const noexcept {
  return library == other.library && attributes.link_layer == other.attributes.link_layer &&
         attributes.active_speed == other.attributes.active_speed &&
         attributes.active_width == other.attributes.active_width;
}

std::vector<OpenPort> choose_ports(const PortSettings& settings) {
  if (!settings.ports.empty()) return named_ports(settings.ports);
  Found found;
  add_library(&Library::system, found);
  if (found.ports.empty()) add_library(&Library::soft, found);
  if (found.ports.empty()) {
    throw Error("no RDMA device with an active port, and no software device: " + found.why);
  }
  std::vector<OpenPort> result;
  for (const OpenPort& port : found.ports) {
    if (port.is_like(found.ports.front()) && result.size() < kMaxRails) result.push_back(port);
  }
  return result;
}

int numa_node_of_device(std::string_view device, const std::string& system) {
  std::ifstream file(fmt::format("{}/class/infiniband/{}/device/numa_node", system, device));
  int node = -1;
  return file >> node ? node : -1;
}

int numa_node_of_thread() noexcept {
  unsigned core = 0;
  unsigned node = 0;
  return ::getcpu(&core, &node) == 0 ? static_cast<int>(node) : -1;
}

int numa_distance(int from, int to, const std::string& system) {
  if (from < 0 || to < 0 || from == to) return kNearest;
  std::ifstream file(fmt::format("{}/devices/system/node/node{}/distance", system, from));
  // One number for each existing node; node numbers may have gaps, but hardly ever do.
  int distance = kNearest;
  for (int node = 0; node <= to; ++node) {
    if (!(file >> distance)) return kNearest;
  }
  return distance;
}

std::vector<std::size_t> nearest_first(std::span<const int> distances, int turn) {
  std::vector<std::size_t> order(distances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
  const auto farther = std::ranges::find_if(
      order, [&](std::size_t i) { return distances[i] != distances[order.front()]; });
  if (order.size() > 1) {
    std::rotate(order.begin(), order.begin() + turn % (farther - order.begin()), farther);
  }
  return order;
}

}  // namespace weft::verbs
