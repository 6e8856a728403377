// Address handles: creation, destruction, and the address that a received datagram came from.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace weft::soft {

ibv_ah* create_ah(ibv_pd* pd, const ibv_ah_attr& attributes);
int destroy_ah(ibv_ah* ah) noexcept;
/// As ibv_init_ah_from_wc: 0, or -1 when the completion's GRH names none of our GIDs.
int init_ah_from_wc(ibv_context* context, std::uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
                    ibv_ah_attr& attributes) noexcept;

}  // namespace weft::soft
