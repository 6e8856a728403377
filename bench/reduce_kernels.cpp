// Bytes that the reduction kernels move, beside memcpy and a plain loop compiled as this file is.
// Bytes of combine: two operands and the result. Of fold: all sources and the result.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/instruction_sets.hpp"

namespace {

using weft::Operation;
using weft::Operator;
using weft::Type;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kSources = 8;

/// Operands are in the nearest cache, in the last one, or in memory.
constexpr std::int64_t kSizes[] = {4 << 10, 256 << 10, 64 << 20};

void count_bytes(benchmark::State& state, std::size_t each) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(each));
}

std::size_t size_of_run(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

void combine(benchmark::State& state, const Operation& operation) {
  const std::size_t bytes = size_of_run(state);
  const Bytes left(bytes, std::byte{0x3f});
  const Bytes right(bytes, std::byte{0x3e});
  Bytes dst(bytes);
  for (auto _ : state) {
    operation.combine(operation.context, dst.data(), left.data(), right.data(),
                      bytes / operation.element_bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 3 * bytes);
}

void fold(benchmark::State& state, const Operation& operation) {
  const std::size_t bytes = size_of_run(state) / kSources;
  const std::vector<Bytes> sources(kSources, Bytes(bytes, std::byte{0x3f}));
  std::vector<const std::byte*> addresses;
  for (const Bytes& each : sources) addresses.push_back(each.data());
  Bytes dst(bytes);
  for (auto _ : state) {
    operation.fold(operation.context, dst.data(), addresses.data(), kSources,
                   bytes / operation.element_bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, (kSources + 1) * bytes);
}

template <class T>
void plain_sum(benchmark::State& state) {
  const std::size_t count = size_of_run(state) / sizeof(T);
  const std::vector<T> left(count, T{1});
  const std::vector<T> right(count, T{2});
  std::vector<T> dst(count);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) dst[i] = static_cast<T>(left[i] + right[i]);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 3 * count * sizeof(T));
}

struct Place {
  double value;
  int place;
};

void plain_maximum_with_place(benchmark::State& state) {
  const std::size_t count = size_of_run(state) / sizeof(Place);
  const std::vector<Place> left(count, {1, 2});
  const std::vector<Place> right(count, {1, 1});
  std::vector<Place> dst(count);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) {
      const bool other = left[i].value < right[i].value ||
                         (left[i].value == right[i].value && right[i].place < left[i].place);
      dst[i] = other ? right[i] : left[i];
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 3 * count * sizeof(Place));
}

void copy(benchmark::State& state) {
  const std::size_t bytes = size_of_run(state);
  const Bytes source(bytes, std::byte{0x3f});
  Bytes dst(bytes);
  for (auto _ : state) {
    std::memcpy(dst.data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2 * bytes);
}

void add(const std::string& name, void (*run)(benchmark::State&)) {
  auto* added = benchmark::RegisterBenchmark(name.c_str(), run);
  for (const std::int64_t size : kSizes) added->Arg(size);
}

void add_kernels(const std::string& name, Operator op, Type type) {
  for (const std::string_view set : weft::kernels::instruction_sets()) {
    const Operation operation = weft::kernels::operation_by(set, op, type);
    const std::string tail = name + "/" + std::string(set);
    auto* combines = benchmark::RegisterBenchmark(("combine/" + tail).c_str(), combine, operation);
    auto* folds = benchmark::RegisterBenchmark(("fold/" + tail).c_str(), fold, operation);
    for (const std::int64_t size : kSizes) {
      combines->Arg(size);
      folds->Arg(size);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  add("memcpy", copy);
  add("plain/sum_int32", plain_sum<std::uint32_t>);
  add("plain/sum_float32", plain_sum<float>);
  add("plain/sum_float64", plain_sum<double>);
  add("plain/maximum_with_place_float64_int32", plain_maximum_with_place);
  add_kernels("sum_int32", Operator::sum, Type::int32);
  add_kernels("sum_float16", Operator::sum, Type::float16);
  add_kernels("sum_bfloat16", Operator::sum, Type::bfloat16);
  add_kernels("sum_float32", Operator::sum, Type::float32);
  add_kernels("sum_float64", Operator::sum, Type::float64);
  add_kernels("minimum_float64", Operator::minimum, Type::float64);
  add_kernels("product_complex128", Operator::product, Type::complex128);
  add_kernels("maximum_with_place_float32_int32", Operator::maximum_with_place,
              Type::float32_int32);
  add_kernels("maximum_with_place_float64_int32", Operator::maximum_with_place,
              Type::float64_int32);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
