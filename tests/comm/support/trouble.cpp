#include "tests/comm/support/trouble.hpp"

#include <dlfcn.h>

#include <vector>

#include "base/error.hpp"
#include "verbs/device/library.hpp"

namespace weft::test {

namespace {
constexpr std::size_t kCounts[] = {1, 100, 3000, 40000};
}

void inject(const std::string& faults) {
  void* device = ::dlopen(verbs::soft_device_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (device == nullptr) throw Error("the software device is not loaded");
  auto* call = reinterpret_cast<int (*)(const char*)>(::dlsym(device, "weft_soft_inject"));
  if (call == nullptr || call(faults.c_str()) != 0) throw Error("not injected: " + faults);
}

std::string exchange(Communicator& comm, int round) {
  const int ranks = comm.size();
  const auto value = [&](int from, int to, std::size_t i) {
    return static_cast<int>(i) + 7919 * (from * ranks + to) + 104729 * round;
  };
  for (const std::size_t count : kCounts) {
    std::vector<int> input(static_cast<std::size_t>(ranks) * count);
    std::vector<int> output(input.size(), -1);
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = value(comm.rank(), static_cast<int>(i / count), i % count);
    }
    comm.alltoall<int>(input, output);
    for (std::size_t i = 0; i < output.size(); ++i) {
      const int from = static_cast<int>(i / count);
      if (output[i] == value(from, comm.rank(), i % count)) continue;
      return fmt::format("round {}, {} elements: element {} from rank {} is wrong", round, count,
                         i % count, from);
    }
  }
  return "";
}

}  // namespace weft::test
