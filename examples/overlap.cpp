// Persistent requests: data moves while the program computes.
//
//   weft run -n 4 build/release/examples/overlap
//   WEFT_PROGRESS_THREAD=1 weft run -n 4 build/release/examples/overlap
//
// A field is worked on in slices: each is computed, then transposed among the ranks. There are two
// buffers and a request for each; while one slice is on its way the next one is computed in the
// other buffer. test() moves requests on now and then; with a progress thread that is not needed.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kBlock = 4096;  // numbers that one rank gives another of each slice
constexpr int kSlices = 10;

double number(int slice, int from, int to, std::size_t i) {
  return slice * 1e6 + from * 1e3 + to + static_cast<double>(i) / kBlock;
}

struct Buffer {
  std::vector<double> out, in;
};

void compute(Buffer& buffer, int slice, const weft::Communicator& world, weft::Request* other) {
  for (int to = 0; to < world.size(); ++to) {
    double* block = buffer.out.data() + static_cast<std::size_t>(to) * kBlock;
    for (std::size_t i = 0; i < kBlock; ++i) block[i] = number(slice, world.rank(), to, i);
    if (other != nullptr) other->test();
  }
}

bool is_right(const Buffer& buffer, int slice, const weft::Communicator& world) {
  for (int from = 0; from < world.size(); ++from) {
    const double* block = buffer.in.data() + static_cast<std::size_t>(from) * kBlock;
    for (std::size_t i = 0; i < kBlock; ++i) {
      if (block[i] != number(slice, from, world.rank(), i)) return false;
    }
  }
  return true;
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const std::size_t numbers = kBlock * static_cast<std::size_t>(world.size());
  Buffer buffers[2];
  std::vector<weft::Request> requests;
  for (Buffer& buffer : buffers) {
    buffer.out.resize(numbers);
    buffer.in.resize(numbers);
    requests.push_back(
        world.alltoall_init(buffer.out.data(), buffer.in.data(), kBlock * sizeof(double)));
  }

  bool right = true;
  for (int slice = 0; slice <= kSlices; ++slice) {
    const int here = slice % 2, other = 1 - here;
    weft::Request* on_its_way = slice > 0 ? &requests[static_cast<std::size_t>(other)] : nullptr;
    if (slice < kSlices) {
      compute(buffers[here], slice, world, on_its_way);
      requests[static_cast<std::size_t>(here)].start();
    }
    if (on_its_way != nullptr) {
      on_its_way->wait();
      right = right && is_right(buffers[other], slice - 1, world);
    }
  }
  if (world.rank() == 0) std::printf("%d slices, %s\n", kSlices, right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "overlap: %s\n", error.what());
  return 1;
}
