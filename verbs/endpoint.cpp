#include "verbs/endpoint.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/rc_wire.hpp"

namespace weft::verbs {

namespace {

constexpr int kQueueEntries = 4096;

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

/// The first port that carries traffic, or 0.
std::uint8_t active_port(const Library& library, ibv_context* context, ibv_port_attr& attributes) {
  ibv_device_attr device{};
  if (library.query_device(context, &device) != 0) return 0;
  for (int port = 1; port <= device.phys_port_cnt; ++port) {
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

/// The GID to use: on Ethernet the last IPv4-mapped one (a RoCE v2 entry where there is one, as
/// v1 comes before v2 in the table), else the first that is set.
int choose_gid(const Library& library, ibv_context* context, std::uint8_t port,
               const ibv_port_attr& attributes, ibv_gid& gid) {
  int first = -1;
  int mapped = -1;
  for (int index = 0; index < attributes.gid_tbl_len; ++index) {
    ibv_gid entry{};
    if (library.query_gid(context, port, index, &entry) != 0) continue;
    if (entry.global.interface_id == 0 && entry.global.subnet_prefix == 0) continue;
    if (first < 0) first = index;
    constexpr std::array<std::uint8_t, 12> prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::equal(prefix.begin(), prefix.end(), entry.raw)) mapped = index;
  }
  const bool ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  const int chosen = ethernet && mapped >= 0 ? mapped : first;
  if (chosen >= 0) library.query_gid(context, port, chosen, &gid);
  return chosen;
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

Endpoint::Endpoint(std::string_view wanted) {
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
      if (!any) throw_usage("WEFT_DEVICE={}: has no active port", wanted);
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
  port_ = active_port(library, context, port_attributes_);
  if (port_ == 0) {
    log::info("{}: no active port", name);
    library.close_device(context);
    return;
  }
  handles_.context = context;
  name_ = name;
  gid_index_ = choose_gid(library, context, port_, port_attributes_, gid_);
  handles_.domain = library.alloc_pd(context);
  if (handles_.domain == nullptr) throw_errno(fmt::format("ibv_alloc_pd({})", name));
  ibv_device_attr attributes{};
  library.query_device(context, &attributes);
  const int entries = std::min(kQueueEntries, attributes.max_cqe);
  handles_.queue = library.create_cq(context, entries, nullptr, nullptr, 0);
  if (handles_.queue == nullptr) {
    throw_errno(fmt::format("ibv_create_cq({}, {} entries)", name, entries));
  }
}

Endpoint::Handles::~Handles() {
  if (queue != nullptr) library->destroy_cq(queue);
  if (domain != nullptr) library->dealloc_pd(domain);
  if (context != nullptr) library->close_device(context);
}

std::string Endpoint::describe() const {
  const bool ethernet = port_attributes_.link_layer == IBV_LINK_LAYER_ETHERNET;
  return fmt::format("{} port {} ({})", name_, port_,
                     software() ? "software device"
                     : ethernet ? "RoCE"
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
    const auto wire = wires_.find(completions[i].qp_num);
    if (wire != wires_.end()) wire->second->complete(completions[i]);
  }
  return count;
}

}  // namespace weft::verbs
