#include "verbs/endpoint.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/rc_wire.hpp"

namespace weft::verbs {

namespace {

constexpr int kQueueEntries = 4096;
// Where each write by a peer is a completion, too.
constexpr int kImmediateQueueEntries = 16384;

/// The software device stores a write's last word last. Mellanox's adapters place writes in order,
/// on which MPIs have relied since InfiniHost. Of others a queue pair may know.
Placement known_placement(const Library& library, const ibv_device_attr& device) {
  constexpr std::array<std::uint32_t, 2> kInOrder = {0x02c9, 0x15b3};
  const bool polled =
      library.software || std::ranges::find(kInOrder, device.vendor_id) != kInOrder.end();
  return polled ? Placement::polled : Placement::unknown;
}

/// Runs `use` on the named device while the list is held; false when it is not there.
template <class Use>
bool with_device(const Library& library, std::string_view name, Use use) {
  int count = 0;
  ibv_device** list = library.get_device_list(&count);
  if (list == nullptr) return false;
  bool found = false;
  for (int i = 0; i < count && !found; ++i) {
    if (library.get_device_name(list[i]) != name) continue;
    found = true;
    use(list[i]);
  }
  library.free_device_list(list);
  return found;
}

/// The port that is wanted, or with 0 the first that carries traffic; 0 when it carries none.
std::uint8_t active_port(const Library& library, ibv_context* context, int wanted,
                         ibv_port_attr& attributes) {
  ibv_device_attr device{};
  if (library.query_device(context, &device) != 0) return 0;
  for (int port = 1; port <= device.phys_port_cnt; ++port) {
    if (wanted != 0 && wanted != port) continue;
    const auto number = static_cast<std::uint8_t>(port);
    // An older libibverbs fills only the beginning.
    attributes = {};
    if (library.query_port(context, number, &attributes) == 0 &&
        attributes.state == IBV_PORT_ACTIVE) {
      return number;
    }
  }
  return 0;
}

std::string no_port(const PortSettings& settings) {
  if (settings.port == 0) return "has no active port";
  return fmt::format("port {} is not there or not active", settings.port);
}

std::string list_devices() {
  std::string names;
  const auto add = [&](const std::vector<std::string>& list) {
    for (const auto& name : list) names += (names.empty() ? "" : ", ") + name;
  };
  try {
    add(device_names(Library::system()));
  } catch (const Error&) {  // no libibverbs: then it has no devices
  }
  try {
    add(device_names(Library::soft()));
  } catch (const Error&) {
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Registration::Registration(Registration&& other) noexcept
    : library_(other.library_), region_(std::exchange(other.region_, nullptr)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    reset();
    library_ = other.library_;
    region_ = std::exchange(other.region_, nullptr);
  }
  return *this;
}

void Registration::reset() noexcept {
  if (region_ != nullptr) library_->dereg_mr(region_);
  region_ = nullptr;
}

Endpoint::Endpoint(const PortSettings& settings) : settings_(settings) {
  const std::string& wanted = settings.device;
  std::vector<const Library*> libraries;
  std::string why;
  const auto try_library = [&](const Library& (*get)()) {
    try {
      libraries.push_back(&get());
    } catch (const Error& error) {
      why = error.what();
    }
  };
  if (wanted != "soft") try_library(&Library::system);
  try_library(&Library::soft);
  for (const Library* library : libraries) {
    for (const std::string& name : device_names(*library)) {
      const bool any = wanted.empty() || (wanted == "soft" && library->software);
      if (!any && wanted != name) continue;
      open(*library, name);
      if (handles_.context != nullptr) return;
      if (!any) throw_usage("WEFT_DEVICE={}: {}", wanted, no_port(settings));
    }
  }
  if (wanted.empty()) throw Error("no RDMA device, and no software device: " + why);
  throw_usage("WEFT_DEVICE={}: there is no such device; there are: {} (or: soft)", wanted,
              list_devices());
}

void Endpoint::open(const Library& library, std::string_view name) {
  ibv_context* context = nullptr;
  with_device(library, name, [&](ibv_device* device) { context = library.open_device(device); });
  if (context == nullptr) throw_errno(fmt::format("ibv_open_device({})", name));
  handles_.library = &library;
  ibv_port_attr attributes{};
  port_ = active_port(library, context, settings_.port, attributes);
  if (port_ == 0) {
    log::info("{}: no active port", name);
    library.close_device(context);
    return;
  }
  handles_.context = context;
  name_ = name;
  address_ = resolve_address(library, context, port_, attributes, settings_,
                             fmt::format("{} port {}", name, port_));
  handles_.domain = library.alloc_pd(context);
  if (handles_.domain == nullptr) throw_errno(fmt::format("ibv_alloc_pd({})", name));
  ibv_device_attr limits{};
  library.query_device(context, &limits);
  placement_ = settings_.placement == Placement::unknown ? known_placement(library, limits)
                                                         : settings_.placement;
  const int entries = std::min(
      placement_ == Placement::polled ? kQueueEntries : kImmediateQueueEntries, limits.max_cqe);
  handles_.queue = library.create_cq(context, entries, nullptr, nullptr, 0);
  if (handles_.queue == nullptr) {
    throw_errno(fmt::format("ibv_create_cq({}, {} entries)", name, entries));
  }
  if (settings_.recovery_s != 0) open_control();
}

void Endpoint::open_control() noexcept {
  const ControlPath::Port port{handles_.domain, handles_.queue, port_,
                               static_cast<std::uint16_t>(address_.partition_index)};
  try {
    control_ = std::make_unique<ControlPath>(library(), port);
  } catch (const std::exception& error) {
    log::warn("{}: connections that break will not be made anew: {}", name_, error.what());
  }
}

Endpoint::Handles::~Handles() {
  if (queue != nullptr) library->destroy_cq(queue);
  if (domain != nullptr) library->dealloc_pd(domain);
  if (context != nullptr) library->close_device(context);
}

std::string Endpoint::describe() const {
  return fmt::format("{} port {} ({})", name_, port_,
                     software()          ? "software device"
                     : address_.ethernet ? "RoCE"
                                         : "InfiniBand");
}

Registration Endpoint::register_memory(void* address, std::size_t bytes) {
  ibv_mr* region =
      library().reg_mr(handles_.domain, address, bytes,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (region == nullptr) throw_errno(fmt::format("ibv_reg_mr({}, {} bytes)", name_, bytes));
  return {library(), region};
}

int Endpoint::poll() noexcept {
  std::array<ibv_wc, 16> completions;
  const int count =
      ibv_poll_cq(handles_.queue, static_cast<int>(completions.size()), completions.data());
  for (int i = 0; i < count; ++i) {
    Notice notice;
    const bool datagram = control_ != nullptr && completions[i].qp_num == control_->number();
    if (datagram && !control_->complete(completions[i], notice)) continue;
    const auto wire = wires_.find(datagram ? notice.to : completions[i].qp_num);
    if (wire == wires_.end()) continue;
    datagram ? wire->second->hear(notice) : wire->second->complete(completions[i]);
  }
  for (const auto& [number, wire] : wires_) {
    if (troubled_ == 0) break;
    wire->tend();
  }
  return count;
}

}  // namespace weft::verbs
