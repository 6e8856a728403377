// Names of values, and conversions of rates, as libibverbs has them.
#pragma once

#include <infiniband/verbs.h>

namespace weft::soft {

const char* name_of(ibv_wc_status status) noexcept;
const char* name_of(ibv_event_type type) noexcept;
const char* name_of(ibv_node_type type) noexcept;
const char* name_of(ibv_port_state state) noexcept;

/// The multiple of 2.5 Gbit/s that a rate is, -1 when it is none; and back, IBV_RATE_MAX when no
/// rate is that multiple.
int multiple_of_rate(ibv_rate rate) noexcept;
ibv_rate rate_of_multiple(int multiple) noexcept;
/// Mbit/s, -1 for an unknown rate; and back.
int mbps_of_rate(ibv_rate rate) noexcept;
ibv_rate rate_of_mbps(int mbps) noexcept;

}  // namespace weft::soft
