// Exported functions: devices, events and names of libibverbs, and the device's own extensions.
// Each only calls the C++ function that does the work.
#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "verbs/soft/abi/context.hpp"
#include "verbs/soft/abi/export.hpp"
#include "verbs/soft/abi/extensions.h"
#include "verbs/soft/abi/names.hpp"
#include "verbs/soft/process/ports.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"

namespace soft = weft::soft;

// Devices.

WEFT_VERB ibv_device** ibv_get_device_list(int* count) {
  return soft::make_object([&] { return soft::device_list(count); });
}
WEFT_VERB void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}
WEFT_VERB const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}
WEFT_VERB int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(static_cast<soft::Device*>(device)->number);
}
WEFT_VERB __be64 ibv_get_device_guid(ibv_device* device) {
  return ::htobe64(soft::device_guid(static_cast<soft::Device*>(device)->number));
}
WEFT_VERB ibv_context* ibv_open_device(ibv_device* device) {
  return soft::make_object([&] { return soft::open_device(device); });
}
WEFT_VERB int ibv_close_device(ibv_context* context) {
  return soft::close_device(context);
}

WEFT_VERB int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  soft::describe_device(soft::of(context).device, *attributes);
  return 0;
}
WEFT_VERB int ibv_query_port(ibv_context* context, std::uint8_t port,
                             _compat_ibv_port_attr* attributes) {
  // The old structure ends before port_cap_flags2.
  return soft::query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                          offsetof(ibv_port_attr, port_cap_flags2));
}

WEFT_VERB int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index < 0 || index >= soft::gid_count()) {
    errno = EINVAL;
    return -1;
  }
  *gid = soft::gid_of(soft::of(context).device, index);
  return 0;
}

WEFT_VERB int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                                ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
  if (flags != 0 || size < sizeof(ibv_gid_entry) || port != 1) return EINVAL;
  if (index >= static_cast<std::uint32_t>(soft::gid_count())) return EINVAL;
  std::memset(entry, 0, size);
  entry->gid = soft::gid_of(soft::of(context).device, static_cast<int>(index));
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = soft::gid_type(static_cast<int>(index));
  return 0;
}

WEFT_VERB ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                       std::size_t max_entries, std::uint32_t flags,
                                       std::size_t size) {
  const std::size_t count = std::min(max_entries, static_cast<std::size_t>(soft::gid_count()));
  for (std::size_t i = 0; i < count; ++i) {
    auto* entry =
        reinterpret_cast<ibv_gid_entry*>(reinterpret_cast<std::byte*>(entries) + i * size);
    const int error =
        _ibv_query_gid_ex(context, 1, static_cast<std::uint32_t>(i), entry, flags, size);
    if (error != 0) return -error;
  }
  return static_cast<ssize_t>(count);
}

/// `type` is the kernel's: 0 for InfiniBand and RoCE v1, 1 for RoCE v2.
WEFT_VERB int ibv_query_gid_type(ibv_context*, std::uint8_t port, unsigned index, unsigned* type) {
  if (port != 1 || index >= static_cast<unsigned>(soft::gid_count())) {
    errno = EINVAL;
    return -1;
  }
  *type = soft::gid_type(static_cast<int>(index)) == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

WEFT_VERB int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = ::htobe16(soft::kPkey);
  return 0;
}
WEFT_VERB int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
  if (port == 1 && pkey == ::htobe16(soft::kPkey)) return 0;
  errno = EINVAL;
  return -1;
}

// There is no kernel device behind this one: its files in sysfs are not there.

WEFT_VERB const char* ibv_get_sysfs_path(void) {
  return "/sys";
}
WEFT_VERB int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer,
                                  std::size_t size) {
  char path[512];
  std::snprintf(path, sizeof(path), "%s/%s", directory, file);
  const weft::File opened(::open(path, O_RDONLY | O_CLOEXEC));
  if (!opened) return -1;
  ssize_t length = ::read(opened.get(), buffer, size);
  if (length > 0 && buffer[length - 1] == '\n') buffer[--length] = '\0';
  if (length >= 0 && static_cast<std::size_t>(length) < size) buffer[length] = '\0';
  return static_cast<int>(length);
}
extern "C" __attribute__((visibility("default"), format(printf, 4, 5))) int
ibv_read_ibdev_sysfs_file(char*, std::size_t, ibv_device*, const char*, ...) {
  errno = ENOENT;
  return -1;
}

// Events.

WEFT_VERB int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return soft::of(context).events->get(*event);
}
WEFT_VERB void ibv_ack_async_event(ibv_async_event* event) {
  soft::ack_async_event(event);
}

// Fork: nothing is pinned, so nothing breaks when pages are copied on write.

WEFT_VERB int ibv_fork_init(void) {
  return 0;
}
WEFT_VERB ibv_fork_status ibv_is_fork_initialized(void) {
  return IBV_FORK_UNNEEDED;
}
WEFT_VERB int ibv_dontfork_range(void*, std::size_t) {
  return 0;
}
WEFT_VERB int ibv_dofork_range(void*, std::size_t) {
  return 0;
}

// Import: there is no kernel object to share.

WEFT_VERB ibv_context* ibv_import_device(int) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERB ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERB void ibv_unimport_pd(ibv_pd*) {}
WEFT_VERB ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERB void ibv_unimport_mr(ibv_mr*) {}
WEFT_VERB ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERB void ibv_unimport_dm(ibv_dm*) {}

// Names and rates.

WEFT_VERB const char* ibv_wc_status_str(ibv_wc_status status) {
  return soft::name_of(status);
}
WEFT_VERB const char* ibv_event_type_str(ibv_event_type type) {
  return soft::name_of(type);
}
WEFT_VERB const char* ibv_node_type_str(ibv_node_type type) {
  return soft::name_of(type);
}
WEFT_VERB const char* ibv_port_state_str(ibv_port_state state) {
  return soft::name_of(state);
}
WEFT_VERB int ibv_rate_to_mult(ibv_rate rate) {
  return soft::multiple_of_rate(rate);
}
WEFT_VERB ibv_rate mult_to_ibv_rate(int multiple) {
  return soft::rate_of_multiple(multiple);
}
WEFT_VERB int ibv_rate_to_mbps(ibv_rate rate) {
  return soft::mbps_of_rate(rate);
}
WEFT_VERB ibv_rate mbps_to_ibv_rate(int mbps) {
  return soft::rate_of_mbps(mbps);
}

// Beyond libibverbs.

WEFT_VERB int weft_soft_inject(const char* faults) {
  return soft::run_verb([&] {
    if (faults == nullptr) throw soft::VerbError(EINVAL);
    try {
      soft::FaultPlan plan = soft::parse_faults("weft_soft_inject", faults);
      soft::Runtime::instance().inject(std::move(plan));
    } catch (const weft::UsageError& error) {
      weft::log::write(weft::log::Level::error, error.what());
      throw soft::VerbError(EINVAL);
    }
  });
}
WEFT_VERB int weft_soft_queue_pairs() {
  int count = -1;
  static_cast<void>(soft::run_verb([&] { count = soft::Runtime::instance().queue_pairs(); }));
  return count;
}
