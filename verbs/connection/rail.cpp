#include "verbs/connection/rail.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/connection/connection.hpp"

namespace weft::verbs {

namespace {

// Of the first completion queue.
constexpr int kQueueEntries = 4096;
// An adapter that works sends a datagram in microseconds.
constexpr auto kLongestFlush = std::chrono::milliseconds(10);

/// The software device stores a write's last word last. Mellanox's adapters place writes in order,
/// on which MPIs have relied since InfiniHost. For other adapters a queue pair may know.
Placement known_placement(const Library& library, const ibv_device_attr& device) {
  constexpr std::array<std::uint32_t, 2> kInOrder = {0x02c9, 0x15b3};
  const bool polled =
      library.software || std::ranges::find(kInOrder, device.vendor_id) != kInOrder.end();
  return polled ? Placement::polled : Placement::unknown;
}

}  // namespace

Rail::Rail(OpenPort port, PortSettings settings)
    : port_(std::move(port)), settings_(std::move(settings)) {
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
  most_entries_ = limits.max_cqe;
  add_queue(ControlPath::kCompletions);
  if (settings_.recovery_s != 0) open_control();
}

void Rail::add_queue(int least) {
  const std::string& device = port_.device;
  const int wanted = handles_.queues.empty() ? kQueueEntries : 2 * handles_.queues.back().entries;
  const int entries = std::min(std::max(wanted, least), most_entries_);
  if (entries < least) {
    throw Error(fmt::format("{}: a completion queue has {} entries at most; {} are needed", device,
                            most_entries_, least));
  }
  handles_.queues.reserve(handles_.queues.size() + 1);
  ibv_cq* queue = library().create_cq(port_.context.get(), entries, nullptr, nullptr, 0);
  if (queue == nullptr) throw_errno(fmt::format("ibv_create_cq({}, {} entries)", device, entries));
  handles_.queues.push_back({queue, entries, 0});
}

ibv_cq* Rail::take_room(int completions) {
  const auto has_room = [completions](const Queue& queue) {
    return queue.entries - queue.taken >= completions;
  };
  auto found = std::ranges::find_if(handles_.queues, has_room);
  if (found == handles_.queues.end()) {
    add_queue(completions);
    found = std::prev(handles_.queues.end());
  }
  found->taken += completions;
  return found->handle;
}

void Rail::give_room(const ibv_cq* queue, int completions) noexcept {
  std::ranges::find(handles_.queues, queue, &Queue::handle)->taken -= completions;
}

void Rail::open_control() noexcept {
  Queue& queue = handles_.queues.front();
  const ControlPath::Port port{handles_.domain, queue.handle, port_.number,
                               static_cast<std::uint16_t>(address_.partition_index)};
  try {
    control_ = std::make_unique<ControlPath>(library(), port);
    queue.taken += ControlPath::kCompletions;
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
  for (const Queue& queue : queues) library->destroy_cq(queue.handle);
  if (domain != nullptr) library->dealloc_pd(domain);
}

std::string Rail::describe() const {
  return fmt::format("{} port {} ({})", port_.device, port_.number,
                     software()          ? "software device"
                     : address_.ethernet ? "RoCE"
                                         : "InfiniBand");
}

ibv_mr* Rail::register_memory(void* address, std::size_t bytes) const noexcept {
  return library().reg_mr(
      handles_.domain, address, bytes,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

void Rail::flush_notices() noexcept {
  if (control_ == nullptr) return;
  const auto deadline = std::chrono::steady_clock::now() + kLongestFlush;
  while (control_->is_sending() && !is_stuck_) {
    poll();
    is_stuck_ = std::chrono::steady_clock::now() >= deadline;
  }
}

int Rail::poll() noexcept {
  int count = 0;
  for (const Queue& queue : handles_.queues) count += poll(queue.handle);
  return count;
}

int Rail::poll(ibv_cq* queue) noexcept {
  std::array<ibv_wc, 16> completions;
  const int count = ibv_poll_cq(queue, static_cast<int>(completions.size()), completions.data());
  for (int i = 0; i < count; ++i) {
    Notice notice;
    const bool datagram = control_ != nullptr && completions[i].qp_num == control_->number();
    if (datagram && !control_->complete(completions[i], notice)) continue;
    const auto found = lanes_.find(datagram ? notice.to : completions[i].qp_num);
    if (found == lanes_.end()) continue;
    RcLane& lane = *found->second;
    datagram ? lane.connection().receive(lane, notice)
             : lane.connection().complete(lane, completions[i]);
  }
  return count;
}

}  // namespace weft::verbs
