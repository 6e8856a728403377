// Completion queues and completion channels: creation, destruction, completion events.
#pragma once

#include <infiniband/verbs.h>

namespace weft::soft {

/// Without the functions of the extended polling interface. VerbError when refused.
ibv_cq_ex* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes);
int destroy_cq(ibv_cq* cq) noexcept;

ibv_comp_channel* create_channel(ibv_context* context);
int destroy_channel(ibv_comp_channel* channel) noexcept;
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) noexcept;
void ack_cq_events(ibv_cq* cq, unsigned count) noexcept;

}  // namespace weft::soft
