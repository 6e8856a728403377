// Arrivals: memory that all ranks of the job map, in which each says how far it has come: for
// barriers, and for those who look when a program hangs or dies.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace weft::test {

class Arrivals {
 public:
  static constexpr int kRanks = 16;
  static constexpr int kSteps = 64;

  /// In a file that is made where there is none. Its ranks are those of MPI_COMM_WORLD.
  static void open(const std::string& file);
  static Arrivals& all();

  /// This rank begins a step of a program, by their numbers.
  void begin(int rank, std::uint64_t program, int step) noexcept;
  void enter(int rank, std::uint64_t program, int step) noexcept;
  bool has_entered(int rank, std::uint64_t program, int step) const noexcept;

 private:
  struct Rank {
    std::atomic<std::uint64_t> program, step;
    std::array<std::atomic<std::uint64_t>, kSteps> entered;  // the program in which, and 1
  };
  std::array<Rank, kRanks> ranks_;
};

}  // namespace weft::test
