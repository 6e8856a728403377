// Measurements inside a node.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "device_measurements/measurement_tasks.hpp"
#include "device_measurements/pinning.hpp"
#include "engine/copying/copy.hpp"
#include "engine/copying/reduce.hpp"
#include "engine/node/doorbell.hpp"

namespace weft::device_measurements {

using engine::now_ns;
using nic_profiles::Copy;
using nic_profiles::Origin;

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kPageBytes = 4096;

/// Shape of a copy: every other block in `extent()` bytes.
struct Shape {
  explicit Shape(const Copy& copy)
      : block(std::max<std::uint64_t>(1, copy.bytes / copy.blocks)),
        blocks(copy.blocks),
        stride(copy.blocks == 1 ? block : 2 * block) {}
  std::uint64_t bytes() const { return block * blocks; }
  std::uint64_t extent() const { return stride * blocks; }

  std::uint64_t block, blocks, stride;
};

double since(std::int64_t begin, double look_ns) {
  return std::max(0.0, static_cast<double>(now_ns() - begin) - look_ns);
}

/// Reads one word of each cache line.
void touch(std::span<const std::byte> memory) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= memory.size(); at += kLine) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, sizeof word);
    sum += word;
  }
  // Keeps the reads, although the sum is not used.
  asm volatile("" : : "r"(sum) : "memory");
}

/// Node 1's part of copies of fresh memory: puts the data into the memory of the ranks of node 0.
void supply(Station& station, const Task& task, const Shape& shape) {
  Connection& peer = station.to(station.place());
  for (int round = 0; round < task.repeats; ++round) {
    station.wait_until([&] {
      Station::progress(peer);
      return peer.wire.put(peer.inbox, peer.keys, station.out(), station.key(), shape.extent()) ==
             verbs::Status::ok;
    });
    station.wait_until([&] {
      Station::progress(peer);
      return peer.wire.puts_done() == peer.wire.puts();
    });
    station.send(peer, 1);     // the data has arrived
    station.receive(peer, 1);  // it has been copied
  }
}

class Copier {
 public:
  Copier(Station& station, const Task& task)
      : station_(station), copy_(task.copy), shape_(task.copy) {}

  std::vector<double> run(int repeats) {
    const double look_ns = clock_ns();
    std::vector<double> times;
    for (int round = 0; round < repeats; ++round) {
      std::byte* source = prepare();
      station_.barrier(copy_.cores);
      const std::int64_t begin = now_ns();
      engine::copy({station_.target(), shape_.bytes(), 1, shape_.bytes(), 0},
                   {source, shape_.block, shape_.blocks, shape_.stride, 0});
      times.push_back(since(begin, look_ns));
      if (copy_.origin == Origin::fresh) station_.send(station_.to(station_.place()), 1);
    }
    return times;
  }

 private:
  std::byte* prepare() {
    std::byte* source = station_.in();
    if (copy_.origin == Origin::written) std::memset(source, 2, shape_.extent());
    if (copy_.since_bytes > 0) {
      touch(station_.cold_memory().first(
          std::min<std::uint64_t>(copy_.since_bytes, station_.cold_memory().size())));
    }
    if (copy_.origin == Origin::fresh) {
      Connection& peer = station_.to(station_.place());
      verbs::Transfer transfer;
      transfer.layout = station_.layout(station_.target(), 1);
      peer.channel.recv(transfer);
      station_.wait_until([&] {
        Station::progress(peer);
        return transfer.done;
      });
    }
    if (copy_.origin == Origin::memory) source = station_.coldest(shape_.extent());
    // The destination is cached.
    std::memset(station_.target(), 0, shape_.bytes());
    return source;
  }

  Station& station_;
  Copy copy_;
  Shape shape_;
};

}  // namespace

std::uint64_t part(int number, std::uint64_t bytes) {
  const std::uint64_t length = round_up(std::max<std::uint64_t>(bytes, 1), kPageBytes);
  const std::uint64_t parts = nic_profiles::kLargest_bytes / length;
  return static_cast<std::uint64_t>(number) % parts * length;
}

double clock_ns() {
  std::array<std::int64_t, 101> times{};
  for (std::int64_t& time : times) {
    const std::int64_t begin = now_ns();
    time = now_ns() - begin;
  }
  std::ranges::nth_element(times, times.begin() + times.size() / 2);
  return static_cast<double>(times[times.size() / 2]);
}

std::vector<double> copy(Station& station, const Task& task) {
  if (station.place() >= task.copy.cores) return {};
  if (station.node() == 0) return Copier(station, task).run(task.repeats);
  if (task.copy.origin == Origin::fresh) supply(station, task, Shape(task.copy));
  return {};
}

std::vector<double> signal(Station& station, const Task& task) {
  if (station.node() != 0 || station.place() > 1) return {};
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    if (station.place() == 1) {
      station.await_signal(0);
      station.signal(0);
      continue;
    }
    const std::int64_t begin = now_ns();
    station.signal(1);
    station.await_signal(1);
    times.push_back(static_cast<double>(now_ns() - begin) / 2);
  }
  return times;
}

std::vector<double> turn(Station& station, const Task& task) {
  if (station.node() != 0 || station.place() > 1) return {};
  if (CPU_COUNT(&station.common_cores()) == 0) return {0};
  const PinnedThread shared(station.common_cores(), 0);
  station.share_core();
  return signal(station, task);
}

/// Copies of a neighbour's private memory by a system call.
std::vector<double> call(Station& station, const Task& task) {
  if (station.node() != 0 || station.place() > 1) return {};
  if (station.place() == 1) {
    std::memset(station.in(), 3, nic_profiles::kLargest_bytes);
    station.publish_memory();
    station.signal(0);
    station.await_signal(0);
    return {};
  }
  station.await_signal(1);
  const double look_ns = clock_ns();
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    const std::int64_t begin = now_ns();
    const bool allowed = station.read_neighbour(1, part(round, task.bytes), task.bytes);
    times.push_back(allowed ? since(begin, look_ns) : 0);
  }
  station.signal(1);
  return times;
}

std::vector<double> reduce(Station& station, const Task& task) {
  if (!station.is_at(0, 0)) return {};
  const Operation sum = operation(Operator::sum, Type::float64);
  const double look_ns = clock_ns();
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    std::memset(station.in(), 0, task.bytes);
    std::memset(station.target(), 0, task.bytes);
    const std::int64_t begin = now_ns();
    engine::reduce(sum, plan::Operand::left, {station.target(), task.bytes, 1, task.bytes, 0},
                   {station.in(), task.bytes, 1, task.bytes, 0});
    times.push_back(since(begin, look_ns));
  }
  return times;
}

std::vector<double> registration(Station& station, const Task& task) {
  if (!station.is_at(0, 0)) return {};
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    // New pages each time, populated: page faults are no cost of a registration.
    void* memory = ::mmap(nullptr, task.bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) throw_errno(fmt::format("mmap({} bytes)", task.bytes));
    try {
      const std::int64_t begin = now_ns();
      const verbs::Registration held = station.endpoint().register_memory(memory, task.bytes);
      times.push_back(static_cast<double>(now_ns() - begin));
    } catch (...) {
      ::munmap(memory, task.bytes);
      throw;
    }
    ::munmap(memory, task.bytes);
  }
  return times;
}

std::vector<double> perform(Station& station, const Task& task) {
  switch (task.kind) {
    case Task::Kind::end:
      return {};
    case Task::Kind::latency:
      return latency(station, task);
    case Task::Kind::send_busy:
      return send_busy(station, task);
    case Task::Kind::stream:
      return stream(station, task.stream);
    case Task::Kind::copy:
      return copy(station, task);
    case Task::Kind::signal:
      return signal(station, task);
    case Task::Kind::turn:
      return turn(station, task);
    case Task::Kind::call:
      return call(station, task);
    case Task::Kind::reduce:
      return reduce(station, task);
    case Task::Kind::registration:
      return registration(station, task);
  }
  return {};
}

}  // namespace weft::device_measurements
