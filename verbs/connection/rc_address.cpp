#include "verbs/connection/rc_address.hpp"

#include "base/error.hpp"

namespace weft::verbs {

void expect_same_fabric(const Rail& rail, const RcAddress& peer) {
  const PortAddress& own = rail.address();
  const std::string here = rail.describe();
  if ((peer.software != 0) != rail.software()) {
    throw_usage("{} here, {} at the peer: both ends must use a device of one kind (WEFT_DEVICE)",
                here, peer.software != 0 ? "the software device" : "hardware");
  }
  if ((peer.ethernet != 0) != own.ethernet) {
    throw_usage(
        "{} here, another link layer at the peer: choose devices of one fabric (WEFT_DEVICE)",
        here);
  }
  if (own.ethernet && peer.gid_type != own.gid.type) {
    throw_usage("{} here, {} at the peer: both ends must use one (WEFT_GID_TYPE)",
                to_string(own.gid.type), to_string(peer.gid_type));
  }
  if (own.ethernet && peer.gid_family != own.gid.family()) {
    throw_usage("IPv{} here, IPv{} at the peer: both ends must use one (WEFT_GID_FAMILY)",
                own.gid.family() == GidFamily::ipv4 ? 4 : 6,
                peer.gid_family == GidFamily::ipv4 ? 4 : 6);
  }
  // The upper bit says whether a port is a full member; two that are not may not talk.
  if (((peer.partition ^ own.partition) & 0x7fff) != 0 ||
      ((peer.partition | own.partition) & 0x8000) == 0) {
    throw_usage("P_Key {:#06x} here, {:#06x} at the peer: not in one partition (WEFT_PKEY)",
                own.partition, peer.partition);
  }
}

ibv_ah_attr route(const Rail& rail, const RcAddress& peer) {
  const PortAddress& own = rail.address();
  const PortSettings& settings = rail.settings();
  ibv_ah_attr attributes{};
  attributes.port_num = rail.port();
  attributes.dlid = peer.lid;
  attributes.sl = settings.service_level;
  const bool other_subnet =
      peer.gid.global.subnet_prefix != own.gid.gid.global.subnet_prefix && own.gid.index >= 0;
  if (own.ethernet || own.global_required || peer.global_required != 0 || other_subnet ||
      settings.gid_index) {
    attributes.is_global = 1;
    attributes.grh.dgid = peer.gid;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(own.gid.index);
    attributes.grh.hop_limit = 64;
    attributes.grh.traffic_class = settings.traffic_class;
  }
  return attributes;
}

}  // namespace weft::verbs
