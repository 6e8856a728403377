#include "verbs/soft/abi/context.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "verbs/soft/abi/extended.hpp"
#include "verbs/soft/objects/objects.hpp"
#include "verbs/soft/process/device_settings.hpp"
#include "verbs/soft/process/ports.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/completion.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/queues/send.hpp"
#include "verbs/soft/segment/control_segment.hpp"

namespace weft::soft {

namespace {

std::array<Device, kMaxDevices>& devices() {
  static std::array<Device, kMaxDevices> all = [] {
    std::array<Device, kMaxDevices> made{};
    for (unsigned i = 0; i < kMaxDevices; ++i) {
      Device& device = made[i];
      device.number = i;
      device.node_type = IBV_NODE_CA;
      device.transport_type = IBV_TRANSPORT_IB;
      std::snprintf(device.name, sizeof(device.name), "weft_soft%u", i);
      std::snprintf(device.dev_name, sizeof(device.dev_name), "weft_uverbs%u", i);
      std::snprintf(device.dev_path, sizeof(device.dev_path),
                    "/sys/class/infiniband_verbs/weft_uverbs%u", i);
      std::snprintf(device.ibdev_path, sizeof(device.ibdev_path),
                    "/sys/class/infiniband/weft_soft%u", i);
    }
    return made;
  }();
  return all;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) noexcept {
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
    ::clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
  }
  values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

void install_operations(Context& context) noexcept {
  // Operations that are not set here are not supported; verbs.h answers EOPNOTSUPP for them.
  context.verbs.sz = sizeof(verbs_context);
  context.verbs.query_port = query_port;
  context.verbs.query_device_ex = query_device_ex;
  context.verbs.query_rt_values = query_rt_values;
  context.verbs.create_cq_ex = create_cq_ex;
  context.verbs.create_qp_ex = create_qp_ex;
  ibv_context& shown = context.verbs.context;
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
  shown.ops.poll_cq = poll_cq;
  shown.ops.req_notify_cq = req_notify_cq;
  shown.ops.post_send = post_send;
  shown.ops.post_recv = post_recv;
  shown.ops.post_srq_recv = post_srq_recv;
}

}  // namespace

ibv_device** device_list(int* count) {
  const unsigned number = settings_valid() ? settings().devices : 0;
  auto** list = static_cast<ibv_device**>(std::calloc(number + 1, sizeof(ibv_device*)));
  if (list == nullptr) throw std::bad_alloc();
  for (unsigned i = 0; i < number; ++i) list[i] = &devices()[i];
  if (count != nullptr) *count = static_cast<int>(number);
  return list;
}

ibv_context* open_device(ibv_device* device) {
  auto context = std::make_unique<Context>();
  context->device = static_cast<Device*>(device)->number;
  context->runtime = &Runtime::instance();
  context->process = &context->runtime->process();
  context->events = std::make_unique<AsyncEvents>();
  ibv_context& shown = context->verbs.context;
  shown.device = device;
  shown.cmd_fd = -1;
  shown.async_fd = context->events->descriptor.get();
  shown.num_comp_vectors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ::pthread_mutex_init(&shown.mutex, nullptr);
  install_operations(*context);
  context->runtime->add(*context);
  return &context.release()->verbs.context;
}

int close_device(ibv_context* public_context) noexcept {
  Context& context = of(public_context);
  context.runtime->remove(context);
  if (context.users == 0) {
    delete &context;
    return 0;
  }
  // As with a kernel's device, closing retires the objects that the program did not destroy: peers
  // can no longer reach them. Their structures stay, because the program may still point to them.
  context.runtime->abandon(context);
  abandon_regions(context);
  context.events->descriptor.reset();
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) noexcept {
  if (port != 1) return EINVAL;
  ibv_port_attr described;
  describe_port(of(context).device, port_is_up(of(context).process->segment(), of(context).device),
                described);
  // An older program's structure is shorter; a newer one's rest is zeroed.
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &described, std::min(size, sizeof(described)));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) noexcept {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < sizeof(ibv_device_attr)) return EINVAL;
  ibv_device_attr_ex described{};
  describe_device(of(context).device, described.orig_attr);
  described.completion_timestamp_mask = ~std::uint64_t{0};
  described.hca_core_clock = 1'000'000;  // kHz: timestamps count nanoseconds
  described.device_cap_flags_ex = described.orig_attr.device_cap_flags;
  described.pci_atomic_caps = {};
  described.phys_port_cnt_ex = 1;
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &described, std::min(size, sizeof(described)));
  return 0;
}

}  // namespace weft::soft
