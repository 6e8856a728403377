#include "verbs/device/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/installation.hpp"

namespace weft::verbs {

namespace {

template <class Function>
void resolve(void* handle, const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (function == nullptr) throw Error(fmt::format("{}: has no function {}", library.path, name));
}

/// Never 0. SystemError when /proc does not tell.
std::uint64_t fabric_of_this_process() {
  constexpr const char* kBoot = "/proc/sys/kernel/random/boot_id";
  constexpr const char* kNetwork = "/proc/self/ns/net";
  std::ifstream file(kBoot);
  std::string boot;
  if (!(file >> boot)) throw SystemError(fmt::format("read({})", kBoot), EIO);
  struct stat network = {};
  if (::stat(kNetwork, &network) != 0) throw_errno(fmt::format("stat({})", kNetwork));
  const std::string all = fmt::format("{} {} {}", boot, network.st_ino, ::geteuid());
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, the same in all processes
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash | 1;
}

Library load(const std::string& path, bool software) {
  Library library;
  library.path = path;
  library.software = software;
  if (software) library.fabric = fabric_of_this_process();
  // Never closed: providers leave threads and handlers behind that run its code.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(fmt::format("cannot load {}: {}", path, ::dlerror()));
  resolve(handle, library, "ibv_get_device_list", library.get_device_list);
  resolve(handle, library, "ibv_free_device_list", library.free_device_list);
  resolve(handle, library, "ibv_get_device_name", library.get_device_name);
  resolve(handle, library, "ibv_open_device", library.open_device);
  resolve(handle, library, "ibv_close_device", library.close_device);
  resolve(handle, library, "ibv_query_device", library.query_device);
  resolve(handle, library, "ibv_query_port", library.query_port);
  resolve(handle, library, "ibv_query_gid", library.query_gid);
  library.query_gid_entry =
      reinterpret_cast<decltype(library.query_gid_entry)>(::dlsym(handle, "_ibv_query_gid_ex"));
  library.query_qp_data_in_order = reinterpret_cast<decltype(library.query_qp_data_in_order)>(
      ::dlsym(handle, "ibv_query_qp_data_in_order"));
  resolve(handle, library, "ibv_query_pkey", library.query_pkey);
  resolve(handle, library, "ibv_alloc_pd", library.alloc_pd);
  resolve(handle, library, "ibv_dealloc_pd", library.dealloc_pd);
  resolve(handle, library, "ibv_reg_mr", library.reg_mr);
  resolve(handle, library, "ibv_dereg_mr", library.dereg_mr);
  resolve(handle, library, "ibv_create_comp_channel", library.create_comp_channel);
  resolve(handle, library, "ibv_destroy_comp_channel", library.destroy_comp_channel);
  resolve(handle, library, "ibv_get_cq_event", library.get_cq_event);
  resolve(handle, library, "ibv_ack_cq_events", library.ack_cq_events);
  resolve(handle, library, "ibv_create_cq", library.create_cq);
  resolve(handle, library, "ibv_destroy_cq", library.destroy_cq);
  resolve(handle, library, "ibv_create_qp", library.create_qp);
  resolve(handle, library, "ibv_destroy_qp", library.destroy_qp);
  resolve(handle, library, "ibv_modify_qp", library.modify_qp);
  resolve(handle, library, "ibv_create_ah", library.create_ah);
  resolve(handle, library, "ibv_destroy_ah", library.destroy_ah);
  resolve(handle, library, "ibv_query_qp", library.query_qp);
  resolve(handle, library, "ibv_wc_status_str", library.wc_status_str);
  return library;
}

}  // namespace

// Never destroyed: programs end in any order.
const Library& Library::system() {
  static const auto& library = *new Library(load("libibverbs.so.1", false));
  return library;
}

const Library& Library::soft() {
  static const auto& library = *new Library(load(soft_device_path(), true));
  return library;
}

std::string soft_device_path() {
  if (const auto path = env::text("WEFT_SOFT_DEVICE")) return *path;
  return own_file("libweft-verbs-soft.so");
}

}  // namespace weft::verbs
