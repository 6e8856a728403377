// Library: libibverbs, loaded at run time. The process starts without it, and another
// implementation of the same ABI can replace it, such as the software device (verbs/soft).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace weft::verbs {

/// The control calls, resolved once. Data calls (post, poll, notify) go through the context's ops,
/// as the inline functions of verbs.h do.
struct Library {
  std::string path;
  bool software = false;
  /// Of the software device: equal for two processes exactly when theirs can reach each other (one
  /// kernel, one network namespace, one user). 0: hardware.
  std::uint64_t fabric = 0;

  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  // Some of these names are macros in verbs.h, hence their types in full.
  int (*query_port)(ibv_context*, std::uint8_t, ibv_port_attr*) = nullptr;
  decltype(&::ibv_query_gid) query_gid = nullptr;
  decltype(&::ibv_query_qp_data_in_order) query_qp_data_in_order = nullptr;  // null before 41
  decltype(&::_ibv_query_gid_ex) query_gid_entry = nullptr;  // null before rdma-core 32
  decltype(&::ibv_query_pkey) query_pkey = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int) = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&::ibv_query_qp) query_qp = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;

  /// The system's libibverbs. Loaded on the first call and kept for the life of the process.
  /// Error when it is missing or lacks a function.
  static const Library& system();
  /// The software device: WEFT_SOFT_DEVICE names the file, else it lies beside this code.
  static const Library& soft();
};

/// Path of the shared object that implements the software device.
std::string soft_device_path();

}  // namespace weft::verbs
