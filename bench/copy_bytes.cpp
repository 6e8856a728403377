// copy_bytes beside memcpy, by how far the destination lies behind the source modulo a page.
#include "base/copy_bytes.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPage_bytes = 4096;

using Copy = void (*)(void*, const void*, std::size_t);

void by_memcpy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void by_copy_bytes(void* to, const void* from, std::size_t bytes) {
  weft::copy_bytes(to, from, bytes);
}

struct Way {
  const char* name;
  Copy copy;
};
constexpr Way kWays[] = {{"memcpy", by_memcpy}, {"copy_bytes", by_copy_bytes}};

std::byte* page_in(std::vector<std::byte>& memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kPage_bytes - begin % kPage_bytes) % kPage_bytes;
}

void run(benchmark::State& state, Copy copy, std::size_t behind) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> source(bytes + kPage_bytes, std::byte{1});
  std::vector<std::byte> target(bytes + 2 * kPage_bytes);
  for (auto _ : state) {
    copy(page_in(target) + behind, page_in(source), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::size_t behind : {0, 16, 64}) {
    for (const Way& way : kWays) {
      const std::string name = way.name + ("/behind:" + std::to_string(behind));
      benchmark::RegisterBenchmark(name.c_str(), run, way.copy, behind)
          ->RangeMultiplier(8)
          ->Range(1 << 10, 4 << 20);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
