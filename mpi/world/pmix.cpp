#include "mpi/world/pmix.hpp"

#include <mpi.h>

#ifdef OPEN_MPI
#include "mpi/world/key_values.hpp"

#ifdef WEFT_HAS_PMIX

#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::mpi {

namespace {

constexpr const char* kKey = "weft.addon";

std::atomic<bool> is_put = false;
enum class Fence { none, begun, ended, failed };
std::atomic<Fence> fence = Fence::none;

template <class Function>
Function* function(const char* name) noexcept {
  return reinterpret_cast<Function*>(pmix::symbol(name));
}

void copy_text(char* to, std::size_t bytes, const char* from) noexcept {
  std::strncpy(to, from, bytes - 1);
  to[bytes - 1] = '\0';
}

}  // namespace

namespace pmix {

void* symbol(const char* name) noexcept {
  static void* const library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

void put() noexcept {
  auto* put_value = function<decltype(PMIx_Put)>("PMIx_Put");
  if (put_value == nullptr) return;
  std::string text(text_of(is_disabled_here() ? AddOn::disabled : AddOn::loaded));
  pmix_value_t value = {};
  value.type = PMIX_STRING;
  value.data.string = text.data();
  put_value(PMIX_GLOBAL, kKey, &value);
  is_put = true;
}

bool begin_fence(const pmix_info_t* info, std::size_t count) noexcept {
  if (!is_put || fence != Fence::none) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(info[i].key, PMIX_COLLECT_DATA) != 0) continue;
    if (info[i].value.type == PMIX_BOOL && !info[i].value.data.flag) continue;
    fence = Fence::begun;
    return true;
  }
  return false;
}

void end_fence(pmix_status_t status) noexcept {
  fence = status == PMIX_SUCCESS ? Fence::ended : Fence::failed;
}

}  // namespace pmix

void publish_before_init() noexcept {}

bool has_key_values() noexcept {
  // Where the host lets the exchange go on in the background, it ends when all ranks have come to
  // it, and all are in MPI_Init.
  while (fence == Fence::begun) ::sched_yield();
  return fence == Fence::ended && std::getenv("PMIX_NAMESPACE") != nullptr;
}

AddOn addon_of(int rank) noexcept {
  static auto* const get = function<decltype(PMIx_Get)>("PMIx_Get");
  pmix_proc_t process = {};
  copy_text(process.nspace, sizeof process.nspace, std::getenv("PMIX_NAMESPACE"));
  process.rank = static_cast<pmix_rank_t>(rank);
  pmix_info_t at_once = {};  // what this host's launcher does not know is not there
  copy_text(at_once.key, sizeof at_once.key, PMIX_IMMEDIATE);
  at_once.value.type = PMIX_BOOL;
  at_once.value.data.flag = true;
  pmix_value_t* value = nullptr;
  if (get(&process, kKey, &at_once, 1, &value) != PMIX_SUCCESS || value == nullptr) {
    return AddOn::missing;
  }
  AddOn addon = AddOn::missing;
  if (value->type == PMIX_STRING) {
    addon = addon_of_text(value->data.string);
    std::free(value->data.string);
  }
  std::free(value);
  return addon;
}

}  // namespace weft::mpi

#else

namespace weft::mpi {

void publish_before_init() noexcept {}

bool has_key_values() noexcept {
  return false;
}

AddOn addon_of(int) noexcept {
  return AddOn::missing;
}

}  // namespace weft::mpi

#endif
#endif
