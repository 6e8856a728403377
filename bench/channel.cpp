// Latency and bandwidth of the channel between two processes over a device, as perftest measures
// raw verbs: half of a ping-pong's round trip, and a stream of messages in one direction. And what
// it takes to register such a message's memory and to give that back.
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kRendezvousBytes = 8192;
constexpr int kWarmUp = 100;
constexpr int kUnderWay = 128;  // messages of a stream, as perftest has posted
constexpr int kRegistrations = 50;
constexpr int kYields = 200;
constexpr std::chrono::microseconds kNap(20);

struct Wanted {
  std::array<std::string, 2> devices;
  std::size_t bytes = 8;
  int rounds = 1000;
};

class End {
 public:
  End(const Wanted& wanted, int self, int socket)
      : endpoint_(settings(wanted.devices[static_cast<std::size_t>(self)])),
        wire_(endpoint_),
        channel_(wire_, kRendezvousBytes),
        memory_(wanted.bytes, static_cast<std::byte>(self)),
        registration_(endpoint_.register_memory(memory_.data(), wanted.bytes)),
        socket_(socket) {
    const std::string mine = wire_.address();
    std::string theirs(mine.size(), '\0');
    if (::write(socket_, mine.data(), mine.size()) < 0 ||
        ::recv(socket_, theirs.data(), theirs.size(), MSG_WAITALL) !=
            static_cast<ssize_t>(theirs.size())) {
      throw Error("the other end is gone");
    }
    wire_.connect(theirs);
    meet();
  }

  void send() { stream(true, 1); }
  void recv() { stream(false, 1); }
  /// So many messages in a row, as many of them under way as may be. All are of the same memory.
  void stream(bool sends, int messages) {
    int begun = 0;
    for (int done = 0; done < messages; ++done) {
      for (; begun < std::min(messages, done + kUnderWay); ++begun) {
        verbs::Transfer& transfer = transfers_[static_cast<std::size_t>(begun % kUnderWay)];
        transfer.layout = layout(sends ? registration_.lkey() : registration_.rkey());
        sends ? channel_.send(transfer) : channel_.recv(transfer);
      }
      finish(transfers_[static_cast<std::size_t>(done % kUnderWay)]);
    }
  }
  /// Both ends have come here.
  void meet() {
    char byte = 0;
    if (::write(socket_, &byte, 1) != 1 || ::read(socket_, &byte, 1) != 1) {
      throw Error("the other end is gone");
    }
  }
  std::string device() const { return endpoint_.describe(); }
  /// The same memory once more.
  void register_again() { endpoint_.register_memory(memory_.data(), memory_.size()); }

 private:
  static verbs::PortSettings settings(const std::string& device) {
    auto settings = verbs::PortSettings::from_environment();
    if (!device.empty()) settings.ports = {{device, 0}};
    return settings;
  }
  verbs::Layout layout(std::uint32_t key) {
    return {memory_.data(), memory_.size(), 1, memory_.size(), key};
  }
  /// The core goes to others when it takes long. Linux lets a process that has run less than the
  /// others go on in spite of its yields, so where both ends share a core they also sleep: what
  /// rxe does counts as the sender's own time, and the receiver would yield through as much.
  void finish(const verbs::Transfer& transfer) {
    for (int turn = 0; !transfer.done; ++turn) {
      if (channel_.progress() == verbs::Status::failed) throw Error(channel_.failure());
      if (turn >= patience_ + kYields && patience_ == 0) {
        std::this_thread::sleep_for(kNap);
      } else if (turn >= patience_) {
        ::sched_yield();
      }
    }
  }

  verbs::Endpoint endpoint_;
  verbs::RcWire wire_;
  verbs::Channel channel_;
  // Ordinary memory, as perftest and applications have: the software device reaches memory that
  // processes share faster.
  std::vector<std::byte> memory_;
  verbs::Registration registration_;
  std::vector<verbs::Transfer> transfers_{kUnderWay};
  int socket_;
  const int patience_ = ::sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2048 : 0;
};

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<long>(values.size() / 2));
  return values[values.size() / 2];
}

void run(const Wanted& wanted, int self, int socket) {
  End end(wanted, self, socket);
  std::vector<double> half_trips_us;
  for (int round = -std::min(kWarmUp, wanted.rounds); round < wanted.rounds; ++round) {
    const auto begin = Clock::now();
    self == 0 ? end.send() : end.recv();
    self == 0 ? end.recv() : end.send();
    const std::chrono::duration<double, std::micro> trip = Clock::now() - begin;
    if (round >= 0) half_trips_us.push_back(trip.count() / 2);
  }
  end.meet();
  const auto begin = Clock::now();
  end.stream(self == 0, wanted.rounds);
  end.meet();
  const std::chrono::duration<double> stream = Clock::now() - begin;
  if (self != 0) return;
  std::vector<double> registrations_us;
  for (int round = 0; round < kRegistrations; ++round) {
    const auto start = Clock::now();
    end.register_again();
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    registrations_us.push_back(taken.count());
  }
  std::printf(
      "{\"device\": \"%s\", \"bytes\": %zu, \"latency_us\": %.3f, \"mb_per_s\": %.1f, "
      "\"registration_us\": %.3f}\n",
      end.device().c_str(), wanted.bytes, median(half_trips_us),
      static_cast<double>(wanted.bytes) * wanted.rounds / stream.count() / 1e6,
      median(registrations_us));
}

int run_guarded(const Wanted& wanted, int self, int socket) {
  try {
    run(wanted, self, socket);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_channel: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr, "usage: bench_channel BYTES ROUNDS [DEVICE [DEVICE OF THE OTHER END]]\n");
    return 2;
  }
  Wanted wanted;
  wanted.bytes = std::strtoull(argv[1], nullptr, 10);
  wanted.rounds = std::atoi(argv[2]);
  if (argc > 3) wanted.devices = {argv[3], argv[argc - 1]};
  std::array<int, 2> sockets{};
  if (wanted.bytes == 0 || wanted.rounds < 1 ||
      ::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) {
    std::fprintf(stderr, "bench_channel: BYTES and ROUNDS are at least 1\n");
    return 2;
  }
  const pid_t child = ::fork();
  if (child < 0) return 1;
  const int self = child == 0 ? 1 : 0;
  ::close(sockets[static_cast<std::size_t>(1 - self)]);
  const int code = run_guarded(wanted, self, sockets[static_cast<std::size_t>(self)]);
  if (child == 0) ::_exit(code);
  ::close(sockets[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return code != 0 || status != 0 ? 1 : 0;
}
