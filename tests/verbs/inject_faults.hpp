// Faults of the software device, which this process has open, from now on.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"
#include "verbs/device/library.hpp"

namespace weft::test {

/// `faults`: as for WEFT_SOFT_FAULTS; "": none any more. Throws where the device is not loaded, or
/// does not understand them.
inline void inject(const std::string& faults) {
  void* device = ::dlopen(verbs::soft_device_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (device == nullptr) throw Error("the software device is not loaded");
  auto* call = reinterpret_cast<int (*)(const char*)>(::dlsym(device, "weft_soft_inject"));
  if (call == nullptr || call(faults.c_str()) != 0) throw Error("not injected: " + faults);
}

}  // namespace weft::test
