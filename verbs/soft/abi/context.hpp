// Opening devices.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace weft::soft {

ibv_device** device_list(int* count);
ibv_context* open_device(ibv_device* device);
int close_device(ibv_context* context) noexcept;
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) noexcept;
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) noexcept;

}  // namespace weft::soft
