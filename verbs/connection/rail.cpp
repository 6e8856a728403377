#include "verbs/connection/rail.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::verbs {

namespace {

constexpr int kQueueEntries = 4096;
// More entries where each write by a peer has a completion, too.
constexpr int kImmediateQueueEntries = 16384;

/// The software device stores a write's last word last. Mellanox's adapters place writes in order,
/// on which MPIs have relied since InfiniHost. For other adapters a queue pair may know.
Placement known_placement(const Library& library, const ibv_device_attr& device) {
  constexpr std::array<std::uint32_t, 2> kInOrder = {0x02c9, 0x15b3};
  const bool polled =
      library.software || std::ranges::find(kInOrder, device.vendor_id) != kInOrder.end();
  return polled ? Placement::polled : Placement::unknown;
}

}  // namespace

Rail::Rail(OpenPort port, const PortSettings& settings)
    : port_(std::move(port)), settings_(settings) {
  const Library& lib = library();
  const std::string& device = port_.device;
  handles_.library = &lib;
  address_ = resolve_address(lib, port_.context.get(), port_.number, port_.attributes, settings_,
                             fmt::format("{} port {}", device, port_.number));
  numa_node_ = lib.software ? -1 : numa_node_of_device(device);
  handles_.domain = lib.alloc_pd(port_.context.get());
  if (handles_.domain == nullptr) throw_errno(fmt::format("ibv_alloc_pd({})", device));
  ibv_device_attr limits{};
  lib.query_device(port_.context.get(), &limits);
  vendor_ = limits.vendor_id;
  part_ = limits.vendor_part_id;
  placement_ = settings_.placement == Placement::unknown ? known_placement(lib, limits)
                                                         : settings_.placement;
  const int entries = std::min(
      placement_ == Placement::polled ? kQueueEntries : kImmediateQueueEntries, limits.max_cqe);
  handles_.queue = lib.create_cq(port_.context.get(), entries, nullptr, nullptr, 0);
  if (handles_.queue == nullptr) {
    throw_errno(fmt::format("ibv_create_cq({}, {} entries)", device, entries));
  }
  if (settings_.recovery_s != 0) open_control();
}

void Rail::open_control() noexcept {
  const ControlPath::Port port{handles_.domain, handles_.queue, port_.number,
                               static_cast<std::uint16_t>(address_.partition_index)};
  try {
    control_ = std::make_unique<ControlPath>(library(), port);
  } catch (const std::exception& error) {
    log::warn("{}: broken connections will not be recovered: {}", name(), error.what());
    return;
  }
  try {
    responder_ = std::make_unique<LivenessResponder>(library(), port_.context.get(), port);
  } catch (const std::exception& error) {
    log::warn("{}: no liveness responder: {}", name(), error.what());
  }
}

Rail::Handles::~Handles() {
  if (queue != nullptr) library->destroy_cq(queue);
  if (domain != nullptr) library->dealloc_pd(domain);
}

std::string Rail::describe() const {
  return fmt::format("{} port {} ({})", port_.device, port_.number,
                     software()          ? "software device"
                     : address_.ethernet ? "RoCE"
                                         : "InfiniBand");
}

ibv_mr* Rail::register_memory(void* address, std::size_t bytes) noexcept {
  return library().reg_mr(
      handles_.domain, address, bytes,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

int Rail::poll() noexcept {
  std::array<ibv_wc, 16> completions;
  const int count =
      ibv_poll_cq(handles_.queue, static_cast<int>(completions.size()), completions.data());
  for (int i = 0; i < count; ++i) {
    Notice notice;
    const bool datagram = control_ != nullptr && completions[i].qp_num == control_->number();
    if (datagram && !control_->complete(completions[i], notice)) continue;
    const auto found = lanes_.find(datagram ? notice.to : completions[i].qp_num);
    if (found == lanes_.end()) continue;
    RcLane& lane = *found->second;
    datagram ? lane.wire().receive(lane, notice) : lane.wire().complete(lane, completions[i]);
  }
  return count;
}

}  // namespace weft::verbs
