// Random programs: draws whole MPI programs from a seed and runs them, many in one start of MPI.
// Each rank knows the right answer of each call by MPI's contract, without asking the MPI.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "arrivals.hpp"
#include "program.hpp"

namespace {

using namespace weft::test;

constexpr const char* kUsage =
    "usage: random_program [--seed S] [--programs N] [--steps 0,3-5] [--elements N] [--depth N]\n"
    "                      [--no-delays] [--blocking] [--no-persistent] [--alike]\n"
    "                      [--keep-handles] [--settle] [--show] [--where FILE]\n"
    "  --seed        the first program's number, 1; programs are numbered from it on\n"
    "  --programs    how many, 1\n"
    "  --steps       these steps of each alone\n"
    "  --elements    numbers in a block, at most\n"
    "  --depth       of datatypes, at most; 0: elements side by side\n"
    "  --no-delays   no rank arrives late on purpose\n"
    "  --blocking    all calls are blocking; --no-persistent: persistent ones are nonblocking\n"
    "  --alike       ranks describe the same data by the same datatype\n"
    "  --keep-handles  datatypes, operations and communicators are freed when their calls are "
    "over\n"
    "  --settle      all calls are completed before a communicator is made, or the MPI itself may\n"
    "                run a blocking call\n"
    "  --show        prints each step\n"
    "  --where       a file of zeros in which ranks say how far they are; else one that nobody "
    "sees\n";

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) refuse();
  return value;
}

std::set<int> steps(std::string_view text) {
  std::set<int> found;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const int first = static_cast<int>(number(part.substr(0, dash)));
    const int last = dash == part.npos ? first : static_cast<int>(number(part.substr(dash + 1)));
    for (int i = first; i <= last && i < 1000; ++i) found.insert(i);
  }
  return found;
}

struct Arguments {
  std::uint64_t seed = 1, programs = 1;
  std::string where;
  Choice choice;
};

Arguments parsed(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    Limits& limits = result.choice.limits;
    if (name == "--no-delays") {
      limits.delays = false;
    } else if (name == "--blocking") {
      limits.blocking_only = true;
    } else if (name == "--no-persistent") {
      limits.persistent = false;
    } else if (name == "--alike") {
      limits.alike = true;
    } else if (name == "--keep-handles") {
      limits.frees_early = false;
    } else if (name == "--settle") {
      limits.settles = true;
    } else if (name == "--show") {
      result.choice.shows = true;
    } else if (i + 1 == argc) {
      refuse();
    } else if (name == "--seed") {
      result.seed = number(argv[++i]);
    } else if (name == "--programs") {
      result.programs = number(argv[++i]);
    } else if (name == "--steps") {
      result.choice.steps = steps(argv[++i]);
    } else if (name == "--elements") {
      limits.elements = static_cast<int>(number(argv[++i]));
    } else if (name == "--depth") {
      limits.depth = static_cast<int>(number(argv[++i]));
    } else if (name == "--where") {
      result.where = argv[++i];
    } else {
      refuse();
    }
  }
  return result;
}

void open_arrivals(const std::string& asked) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::array<char, 256> name{};
  asked.copy(name.data(), name.size() - 1);
  if (asked.empty()) {
    const std::string own = "/dev/shm/random_program." + std::to_string(getpid());
    own.copy(name.data(), name.size() - 1);
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  Arrivals::open(name.data());
  MPI_Barrier(MPI_COMM_WORLD);
  if (asked.empty() && rank == 0) unlink(name.data());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Arguments arguments = parsed(argc, argv);
  open_arrivals(arguments.where);
  const Communicator world = described(MPI_COMM_WORLD);
  int faults = 0;
  int all = 0;
  for (std::uint64_t i = 0; i < arguments.programs && all == 0; ++i) {
    faults += Program(arguments.seed + i, arguments.choice, world).run();
    if (i % 16 == 15 || i + 1 == arguments.programs) {
      MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  if (world.rank == 0) std::printf("%d faults\n", all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
