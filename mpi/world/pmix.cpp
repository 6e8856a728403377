#include "mpi/world/pmix.hpp"

#if WEFT_HOST_USES_PMIX
#include "mpi/world/key_values.hpp"

#ifdef WEFT_HAS_PMIX

#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "base/env.hpp"

namespace weft::mpi {

namespace {

constexpr const char* kKey = "weft.addon";

/// This rank's value: put() has not been called, the host's commit takes it along, or that failed.
enum class Value { none, put, failed };
std::atomic<Value> own_value = Value::none;
std::atomic<bool> is_called = false;  // by the program's MPI_Init
enum class Fence { none, begun, ended, failed };
std::atomic<Fence> fence = Fence::none;

template <class Function>
Function* function(const char* name) noexcept {
  return reinterpret_cast<Function*>(pmix::symbol(name));
}

std::optional<std::string> name_of_job() noexcept {
  try {
    return env::text("PMIX_NAMESPACE");
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void copy_text(char* to, std::size_t bytes, const char* from) noexcept {
  std::strncpy(to, from, bytes - 1);
  to[bytes - 1] = '\0';
}

}  // namespace

namespace pmix {

void* symbol(const char* name, const void* caller) noexcept {
  static std::atomic<void*> library = nullptr;
  if (library == nullptr) library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  Dl_info host = {};
  if (library == nullptr && caller != nullptr && dladdr(caller, &host) != 0) {
    // By another name, perhaps; a search in the caller goes on to what it was linked with.
    library = dlopen(host.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  return found != nullptr ? found : dlsym(RTLD_NEXT, name);
}

void put() noexcept {
  own_value = Value::failed;
  auto* put_value = function<decltype(PMIx_Put)>("PMIx_Put");
  if (put_value == nullptr || symbol("PMIx_Get") == nullptr) return;
  std::string text(text_of(is_disabled_here() ? AddOn::disabled : AddOn::loaded));
  pmix_value_t value = {};
  value.type = PMIX_STRING;
  value.data.string = text.data();
  if (put_value(PMIX_GLOBAL, kKey, &value) == PMIX_SUCCESS) own_value = Value::put;
}

void put_if_called() noexcept {
  if (is_called) put();
}

bool begin_fence(const pmix_info_t* info, std::size_t count) noexcept {
  if (own_value == Value::none || fence != Fence::none) return false;
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

/// The host's MPI_Init publishes it.
void publish_before_init() noexcept {
  is_called = true;
}

KeyValues key_values() noexcept {
  // Where the host lets the exchange go on in the background, it ends when all ranks have come to
  // it, and all are in MPI_Init.
  while (fence == Fence::begun) ::sched_yield();
  if (fence != Fence::ended || !name_of_job()) return KeyValues::none;
  return own_value == Value::put ? KeyValues::usable : KeyValues::not_for_this_rank;
}

AddOn addon_of(int rank) noexcept {
  auto* const get = function<decltype(PMIx_Get)>("PMIx_Get");
  const auto job = name_of_job();
  if (get == nullptr || !job) return AddOn::missing;
  pmix_proc_t process = {};
  copy_text(process.nspace, sizeof process.nspace, job->c_str());
  process.rank = static_cast<pmix_rank_t>(rank);
  pmix_info_t at_once = {};  // what this host's launcher does not know is not there
  copy_text(at_once.key, sizeof at_once.key, PMIX_IMMEDIATE);
  at_once.value.type = PMIX_BOOL;
  at_once.value.data.flag = true;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = get(&process, kKey, &at_once, 1, &value);
  if (status == PMIX_ERR_NOT_FOUND) return AddOn::missing;
  if (status != PMIX_SUCCESS || value == nullptr) return AddOn::unknown;
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

KeyValues key_values() noexcept {
  return KeyValues::none;
}

AddOn addon_of(int) noexcept {
  return AddOn::missing;
}

}  // namespace weft::mpi

#endif
#endif
