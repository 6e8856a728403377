#include "verbs/soft/objects/objects.hpp"

#include <endian.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "verbs/soft/process/ports.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

ibv_ah* create_ah(ibv_pd* pd, const ibv_ah_attr& attributes) {
  if (!valid_address(attributes)) throw VerbError(EINVAL);
  auto ah = std::make_unique<Ah>();
  ah->context = pd->context;
  ah->pd = pd;
  ah->attributes = attributes;
  ++of(pd).users;
  return ah.release();
}

int destroy_ah(ibv_ah* ah) noexcept {
  --of(ah->pd).users;
  delete &of(ah);
  return 0;
}

int init_ah_from_wc(ibv_context* context, std::uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
                    ibv_ah_attr& attributes) noexcept {
  attributes = {};
  attributes.dlid = wc.slid;
  attributes.sl = wc.sl;
  attributes.src_path_bits = wc.dlid_path_bits;
  attributes.port_num = port;
  if ((wc.wc_flags & IBV_WC_GRH) == 0) return 0;
  attributes.is_global = 1;
  attributes.grh.dgid = grh->sgid;
  const std::uint32_t flow = ::be32toh(grh->version_tclass_flow);
  attributes.grh.flow_label = flow & 0xfffff;
  attributes.grh.traffic_class = static_cast<std::uint8_t>(flow >> 20);
  attributes.grh.hop_limit = 0xff;
  for (int index = 0; index < gid_count(); ++index) {
    const ibv_gid gid = gid_of(of(context).device, index);
    if (std::memcmp(&gid, &grh->dgid, sizeof(gid)) == 0) {
      attributes.grh.sgid_index = static_cast<std::uint8_t>(index);
      return 0;
    }
  }
  return -1;
}

}  // namespace weft::soft
