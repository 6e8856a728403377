#include "arrivals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft::test {

namespace {

Arrivals* mapped = nullptr;

std::size_t place(int number, int limit) {
  return static_cast<std::size_t>(number % limit);
}

}  // namespace

void Arrivals::open(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, sizeof(Arrivals)) != 0) {
    std::perror(file.c_str());
    std::exit(2);
  }
  void* memory = mmap(nullptr, sizeof(Arrivals), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(2);
  }
  mapped = static_cast<Arrivals*>(memory);
}

Arrivals& Arrivals::all() {
  return *mapped;
}

void Arrivals::begin(int rank, std::uint64_t program, int step) noexcept {
  Rank& own = ranks_[place(rank, kRanks)];
  own.program = program;
  own.step = static_cast<std::uint64_t>(step);
}

void Arrivals::enter(int rank, std::uint64_t program, int step) noexcept {
  ranks_[place(rank, kRanks)].entered[place(step, kSteps)] = program + 1;
}

bool Arrivals::has_entered(int rank, std::uint64_t program, int step) const noexcept {
  return ranks_[place(rank, kRanks)].entered[place(step, kSteps)] == program + 1;
}

}  // namespace weft::test
