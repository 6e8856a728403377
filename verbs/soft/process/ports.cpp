#include "verbs/soft/process/ports.hpp"

#include <endian.h>

#include <cstdio>
#include <cstring>

#include "verbs/soft/process/device_settings.hpp"
#include "verbs/soft/segment/control_layout.hpp"

namespace weft::soft {

std::uint64_t device_guid(unsigned number) noexcept {
  return 0x0277'6566'7400'0000 | (number + 1);  // locally administered, "weft"
}

int gid_count() noexcept {
  return settings().ethernet ? 4 : 1;
}

ibv_gid_type gid_type(int index) noexcept {
  if (!settings().ethernet) return IBV_GID_TYPE_IB;
  return index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

ibv_gid gid_of(unsigned device, int index) noexcept {
  ibv_gid gid{};
  if (index < 2) {
    gid.global.subnet_prefix = ::htobe64(0xfe80'0000'0000'0000);
    gid.global.interface_id = ::htobe64(device_guid(device));
  } else {
    gid.raw[10] = gid.raw[11] = 0xff;
    gid.raw[12] = 169;  // a link-local IPv4 address
    gid.raw[13] = 254;
    gid.raw[14] = 77;
    gid.raw[15] = static_cast<std::uint8_t>(device + 1);
  }
  return gid;
}

std::optional<unsigned> device_at(const ibv_ah_attr& address) noexcept {
  for (unsigned device = 0; device < settings().devices; ++device) {
    if (!settings().ethernet) {
      if (address.dlid == kFirstLid + device) return device;
      continue;
    }
    for (int index = 0; index < gid_count(); ++index) {
      const ibv_gid gid = gid_of(device, index);
      if (address.is_global != 0 && std::memcmp(&gid, &address.grh.dgid, sizeof(gid)) == 0) {
        return device;
      }
    }
  }
  return std::nullopt;
}

bool valid_address(const ibv_ah_attr& address) noexcept {
  return address.port_num == 1 && address.sl < 16 &&
         (address.is_global == 0 || address.grh.sgid_index < gid_count()) &&
         (address.is_global != 0 || gid_type(0) == IBV_GID_TYPE_IB);
}

void describe_port(unsigned device, bool up, ibv_port_attr& port) noexcept {
  port = {};
  port.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  port.max_mtu = IBV_MTU_4096;
  port.active_mtu = IBV_MTU_4096;
  port.gid_tbl_len = gid_count();
  port.port_cap_flags = IBV_PORT_CM_SUP | (settings().ethernet ? IBV_PORT_IP_BASED_GIDS : 0);
  port.max_msg_sz = kMaxMessageBytes;
  port.pkey_tbl_len = 1;
  port.max_vl_num = 1;
  port.active_width = 2;         // 4x
  port.active_speed = 32;        // EDR
  port.phys_state = up ? 5 : 2;  // link up, polling
  if (settings().ethernet) {
    port.link_layer = IBV_LINK_LAYER_ETHERNET;
    return;
  }
  port.link_layer = IBV_LINK_LAYER_INFINIBAND;
  port.lid = static_cast<std::uint16_t>(kFirstLid + device);
  port.sm_lid = kFirstLid;
  port.subnet_timeout = 18;
}

void describe_device(unsigned device, ibv_device_attr& attributes) noexcept {
  attributes = {};
  std::snprintf(attributes.fw_ver, sizeof(attributes.fw_ver), "weft-soft 1.0");
  attributes.node_guid = ::htobe64(device_guid(device));
  attributes.sys_image_guid = ::htobe64(device_guid(0));
  attributes.max_mr_size = settings().max_mr_size;
  attributes.page_size_cap = 0xffff'f000;
  attributes.vendor_id = 0x0277;
  attributes.vendor_part_id = 1;
  attributes.hw_ver = 1;
  attributes.max_qp = kMaxQps - 1;
  attributes.max_qp_wr = kMaxWorkRequests;
  attributes.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
                                IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT;
  attributes.max_sge = kMaxSge;
  attributes.max_sge_rd = kMaxSge;
  attributes.max_cq = kMaxCqs;
  attributes.max_cqe = kMaxCqe;
  attributes.max_mr = kMaxMrs - 1;
  attributes.max_pd = 1 << 20;
  attributes.max_qp_rd_atom = kMaxRdAtomic;
  attributes.max_res_rd_atom = static_cast<int>(kMaxRdAtomic * kMaxQps);
  attributes.max_qp_init_rd_atom = kMaxRdAtomic;
  attributes.atomic_cap = IBV_ATOMIC_GLOB;  // they are the processor's own
  attributes.max_ah = 1 << 20;
  attributes.max_srq = kMaxSrqs;
  attributes.max_srq_wr = kMaxWorkRequests;
  attributes.max_srq_sge = kMaxSge;
  attributes.max_pkeys = 1;
  attributes.local_ca_ack_delay = 15;
  attributes.phys_port_cnt = 1;
}

}  // namespace weft::soft
