// Alltoalls in a row while something is taken away. Ranks are joined by TCP (WEFT_RANK and so on).
//
//   outage COUNT BYTES SCHEME [--drop ROUND FRAMES MS] [--die ROUND RANK] [--cut ROUND RANK LINK]
//          [--leave ROUND RANK] [--stop ROUND RANK]
//
// --drop: in that round the switch lets so many more RoCE frames pass, then drops all for MS.
// --die: in that round the kernel under that rank panics while the others are in the collective.
// --cut: in that round the rank takes a network interface of its node down, for good.
// --leave: instead of that round the rank waits outside of weft, for good.
// --stop: instead of that round the rank stops itself (SIGSTOP), for good.
// Each rank prints one line: "rank 2: 50 rounds, longest 1203 ms", or "rank 2: in round 7 after
// 3100 ms: WHY" and exits with 1.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "pattern.hpp"
#include "weft/weft.hpp"
#include "wire.hpp"

namespace {

struct Settings {
  int count = 0;
  std::size_t bytes = 0;
  std::string scheme;
  int drop_round = -1;
  std::string drop;  // command to the switch
  int die_round = -1;
  int die_rank = -1;
  int cut_round = -1;
  int cut_rank = -1;
  std::string cut;  // command that does it
  int leave_round = -1;
  int leave_rank = -1;
  int stop_round = -1;
  int stop_rank = -1;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  if (argc < 4) throw weft::UsageError("usage: outage COUNT BYTES SCHEME [--drop ...] [--die ...]");
  settings.count = std::atoi(argv[1]);
  settings.bytes = static_cast<std::size_t>(std::atoi(argv[2]));
  settings.scheme = argv[3];
  for (int i = 4; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--drop" && i + 3 < argc) {
      settings.drop_round = std::atoi(argv[i + 1]);
      settings.drop = std::string("drop ") + argv[i + 2] + " " + argv[i + 3];
      i += 3;
    } else if (std::string_view(argv[i]) == "--die" && i + 2 < argc) {
      settings.die_round = std::atoi(argv[i + 1]);
      settings.die_rank = std::atoi(argv[i + 2]);
      i += 2;
    } else if (std::string_view(argv[i]) == "--leave" && i + 2 < argc) {
      settings.leave_round = std::atoi(argv[i + 1]);
      settings.leave_rank = std::atoi(argv[i + 2]);
      i += 2;
    } else if (std::string_view(argv[i]) == "--stop" && i + 2 < argc) {
      settings.stop_round = std::atoi(argv[i + 1]);
      settings.stop_rank = std::atoi(argv[i + 2]);
      i += 2;
    } else if (std::string_view(argv[i]) == "--cut" && i + 3 < argc) {
      settings.cut_round = std::atoi(argv[i + 1]);
      settings.cut_rank = std::atoi(argv[i + 2]);
      settings.cut = std::string("ip link set down dev ") + argv[i + 3];
      i += 3;
    } else {
      throw weft::UsageError(std::string("not understood: ") + argv[i]);
    }
  }
  return settings;
}

[[noreturn]] void panic() {
  if (FILE* file = std::fopen("/proc/sysrq-trigger", "w")) {
    std::fputc('c', file);
    std::fclose(file);
  }
  std::fprintf(stderr, "outage: this kernel does not panic\n");
  std::abort();
}

long long ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin)
      .count();
}

int run(const Settings& settings, weft::Communicator& world) {
  const int rank = world.rank();
  long long longest_ms = 0;
  std::vector<std::byte> output(settings.bytes * static_cast<std::size_t>(world.size()));
  for (int round = 0; round < settings.count; ++round) {
    const auto mixed = static_cast<std::uint64_t>(round);
    const auto input = weft::rig::blocks_to_all(rank, world.size(), settings.bytes, mixed);
    if (round == settings.drop_round && rank == 0) weft::rig::tell_wire(settings.drop);
    if (round == settings.die_round && rank == settings.die_rank) panic();
    if (round == settings.leave_round && rank == settings.leave_rank) ::pause();
    if (round == settings.stop_round && rank == settings.stop_rank) std::raise(SIGSTOP);
    if (round == settings.cut_round && rank == settings.cut_rank &&
        std::system(settings.cut.c_str()) != 0) {
      std::printf("rank %d: failed: %s\n", rank, settings.cut.c_str());
      return 1;
    }
    const auto begin = std::chrono::steady_clock::now();
    try {
      world.alltoall(input.data(), output.data(), settings.bytes);
    } catch (const weft::Error& error) {
      std::printf("rank %d: in round %d after %lld ms: %s\n", rank, round, ms_since(begin),
                  error.what());
      return 1;
    }
    // The first round connects.
    if (round > 0) longest_ms = std::max(longest_ms, ms_since(begin));
    if (!weft::rig::are_blocks_from_all(output, rank, settings.bytes, mixed)) {
      std::printf("rank %d: wrong in round %d\n", rank, round);
      return 1;
    }
  }
  std::printf("rank %d: %d rounds, longest %lld ms\n", rank, settings.count, longest_ms);
  for (const auto& rail : world.statistics().rails) {
    std::printf("rank %d: %s sent %llu bytes\n", rank, rail.name.c_str(),
                static_cast<unsigned long long>(rail.sent_bytes));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    weft::Options options;
    options.algorithms["alltoall"] = settings.scheme;
    weft::Communicator world(weft::tcp_bootstrap(), options);
    return run(settings, world);
  } catch (const std::exception& error) {
    std::printf("outage: %s\n", error.what());
    return 1;
  }
}
