// Calls before which one rank fails by itself, and what each rank hears of it.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test::own_failure {

inline constexpr int kRanks = 4;
inline constexpr const char* kError = "rank 2: no memory";

/// Of some collective, with blocks of so many bytes.
using Call = void (*)(Communicator& comm, std::size_t bytes);

inline void alltoall(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(input.size());
  comm.alltoall(input.data(), output.data(), bytes);
}
inline std::vector<Part> parts_of(std::size_t bytes) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kRanks; ++i) parts.push_back({i * bytes, bytes});
  return parts;
}
inline void alltoallv(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(input.size());
  comm.alltoallv(input.data(), parts_of(bytes), output.data(), parts_of(bytes));
}
/// All wait for the root.
inline void scatter(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(bytes);
  comm.scatter(input.data(), parts_of(bytes), output.data(), bytes, 2);
}
/// With packing, which fails on rank 2.
inline void alltoallw(Communicator& comm, std::size_t bytes) {
  const std::vector<std::size_t> all(kRanks, bytes);
  const bool fails = comm.rank() == 2;
  comm.alltoallw(all, all,
                 {[&](int, std::size_t from, std::size_t to, std::byte* packed) {
                    if (fails) throw std::runtime_error("no memory");
                    std::fill_n(packed, to - from, std::byte{1});
                  },
                  [](int, std::size_t, std::size_t, const std::byte*) {}});
}

/// `calls` of them go well first.
inline void run(Communicator& comm, Call call, int calls) {
  for (int i = 0; i < calls; ++i) call(comm, 64);
  if (comm.rank() == 2 && call != alltoallw) comm.fail("no memory");
  call(comm, 4096);
}

struct Case {
  Call call;
  int calls;
};
inline constexpr Case kCases[] = {{alltoall, 0}, {alltoall, 2}, {alltoallv, 0}, {alltoallv, 2},
                                  {scatter, 0},  {scatter, 2},  {alltoallw, 0}};

inline std::string error_of(Communicator& comm, const Case& one) {
  try {
    run(comm, one.call, one.calls);
    return "none";
  } catch (const PeerError& error) {
    // And of each call after it.
    try {
      alltoall(comm, 8);
    } catch (const PeerError& again) {
      return error.what() == std::string(again.what()) ? error.what() : again.what();
    }
    return "none the second time";
  }
}

}  // namespace weft::test::own_failure
