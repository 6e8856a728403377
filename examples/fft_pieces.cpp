// Alltoall in pieces: a three-dimensional Fourier transform that computes on one piece of a
// transpose while the next ones are on their way.
//
//   weft run -n 4 build/release/examples/fft_pieces 64 8
//   WEFT_NODES=2 WEFT_PROGRESS_THREAD=1 weft run -n 2 build/release/examples/fft_pieces 128 8
//
// The cube of n^3 complex numbers lies in slabs: of P ranks, each holds n/P planes of constant x.
// FFTW transforms them along y and z; a transpose gives each rank n/P planes of constant y, and
// FFTW transforms along x. A block of the transpose is ordered by y first, so a piece of all blocks
// is a few whole planes. On the way there a rank packs one piece while others travel, and
// transforms the planes of a piece as soon as it has come; on the way back it sends those planes as
// soon as they are transformed. The same is done with the transpose in one piece, in turns.
#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "weft/weft.hpp"

namespace {

using Number = std::complex<double>;
using Numbers = std::unique_ptr<Number[], void (*)(void*)>;

constexpr int kRounds = 20;
constexpr double kTolerance = 1e-9;

/// Memory that neighbours reach.
Numbers numbers(std::size_t count) {
  auto* memory = static_cast<Number*>(weft::allocate(count * sizeof(Number)));
  std::fill_n(memory, count, Number());
  return {memory, weft::deallocate};
}

class Transform {
 public:
  Transform(weft::Communicator& world, std::size_t n, std::size_t pieces)
      : n_(n),
        ranks_(static_cast<std::size_t>(world.size())),
        mine_(n / ranks_),
        rows_(mine_ / pieces),
        planes_(numbers(mine_ * n * n)),
        packed_(numbers(mine_ * n * n)),
        arrived_(numbers(mine_ * n * n)),
        request_(world.alltoall_pieces_init(packed_.get(), arrived_.get(),
                                            mine_ * mine_ * n * sizeof(Number),
                                            rows_ * mine_ * n * sizeof(Number))) {
    const int side = static_cast<int>(n);
    const int both[] = {side, side};
    for (const int way : {FFTW_FORWARD, FFTW_BACKWARD}) {
      auto* plane = reinterpret_cast<fftw_complex*>(planes_.get());
      plane_.push_back(fftw_plan_dft(2, both, plane, plane, way, FFTW_ESTIMATE));
      column_.push_back(fftw_plan_many_dft(1, both, side, plane, nullptr, side, 1, plane, nullptr,
                                           side, 1, way, FFTW_ESTIMATE));
    }
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;
  ~Transform() {
    for (const auto& plans : {plane_, column_}) {
      for (fftw_plan plan : plans) fftw_destroy_plan(plan);
    }
  }

  Number* planes() { return planes_.get(); }

  /// From planes of constant x, [x][y][z], to planes of constant y, [y][x][z].
  void forward() {
    for (std::size_t x = 0; x < mine_; ++x) execute(plane_[0], x);
    for (std::size_t piece = 0; piece < request_.pieces(); ++piece) {
      for_each_row(piece, [this](std::size_t rank, std::size_t y, std::size_t x, Number* row) {
        copy_row(row, row_of(x, rank * mine_ + y));
      });
      request_.start_piece();
    }
    for (std::size_t piece = 0; piece < request_.pieces(); ++piece) {
      request_.wait_piece(piece);
      for_each_row(piece, [this](std::size_t rank, std::size_t y, std::size_t x, Number* row) {
        copy_row(row_of(y, rank * mine_ + x), arrived_.get() + (row - packed_.get()));
      });
      for (std::size_t y = piece * rows_; y < (piece + 1) * rows_; ++y) execute(column_[0], y);
    }
  }

  /// Back again, scaled.
  void backward() {
    for (std::size_t piece = 0; piece < request_.pieces(); ++piece) {
      for (std::size_t y = piece * rows_; y < (piece + 1) * rows_; ++y) execute(column_[1], y);
      for_each_row(piece, [this](std::size_t rank, std::size_t y, std::size_t x, Number* row) {
        copy_row(row, row_of(y, rank * mine_ + x));
      });
      request_.start_piece();
    }
    for (std::size_t piece = 0; piece < request_.pieces(); ++piece) {
      request_.wait_piece(piece);
      for_each_row(piece, [this](std::size_t rank, std::size_t y, std::size_t x, Number* row) {
        copy_row(row_of(x, rank * mine_ + y), arrived_.get() + (row - packed_.get()));
      });
    }
    const double scale = 1.0 / static_cast<double>(n_ * n_ * n_);
    for (std::size_t x = 0; x < mine_; ++x) {
      execute(plane_[1], x);
      for (std::size_t i = 0; i < n_ * n_; ++i) planes_[x * n_ * n_ + i] *= scale;
    }
  }

 private:
  /// A row of n numbers, in memory: of plane `first` the one at `second`.
  Number* row_of(std::size_t first, std::size_t second) {
    return planes_.get() + (first * n_ + second) * n_;
  }
  void copy_row(Number* to, const Number* from) const {
    std::memcpy(to, from, n_ * sizeof(Number));
  }
  void execute(fftw_plan plan, std::size_t plane) {
    auto* at = reinterpret_cast<fftw_complex*>(row_of(plane, 0));
    fftw_execute_dft(plan, at, at);
  }
  /// function(rank, y, x, row in the packed block of that rank), y and x below `mine`, of a piece.
  template <class Function>
  void for_each_row(std::size_t piece, Function function) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t y = piece * rows_; y < (piece + 1) * rows_; ++y) {
        for (std::size_t x = 0; x < mine_; ++x) {
          function(rank, y, x, packed_.get() + ((rank * mine_ + y) * mine_ + x) * n_);
        }
      }
    }
  }

  std::size_t n_, ranks_, mine_;
  std::size_t rows_;  // planes of constant y in a piece
  Numbers planes_, packed_, arrived_;
  weft::Request request_;
  std::vector<fftw_plan> plane_, column_;  // forward, backward
};

/// Of the slowest rank, there and back.
double seconds_of(weft::Communicator& world, Transform& transform) {
  world.barrier();
  const auto begin = std::chrono::steady_clock::now();
  transform.forward();
  transform.backward();
  double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double slowest = 0;
  world.allreduce(&mine, &slowest, 1,
                  weft::operation(weft::Operator::maximum, weft::Type::float64));
  return slowest;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  weft::Communicator world(weft::tcp_bootstrap());
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::size_t pieces = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 4;
  const std::size_t least = ranks * std::max<std::size_t>(pieces, 1);
  const std::size_t n =
      argc > 1 ? std::strtoul(argv[1], nullptr, 10) : least * std::max<std::size_t>(1, 64 / least);
  if (n == 0 || pieces == 0 || n % least != 0) {
    if (world.rank() == 0) {
      std::fprintf(stderr,
                   "fft_pieces: n=%zu in %zu pieces: n must be a multiple of %zu ranks times "
                   "the pieces\n",
                   n, pieces, ranks);
    }
    return 2;
  }
  Transform whole(world, n, 1), divided(world, n, pieces);
  const auto value = [&world](std::size_t i) {
    return Number(static_cast<double>((i * 7 + static_cast<std::size_t>(world.rank())) % 101), 1.0);
  };
  std::vector<double> whole_seconds, divided_seconds;
  double error = 0;
  for (Transform* one : {&whole, &divided}) {
    for (std::size_t i = 0; i < n * n * n / ranks; ++i) one->planes()[i] = value(i);
  }
  for (int round = 0; round < kRounds; ++round) {
    whole_seconds.push_back(seconds_of(world, whole));
    divided_seconds.push_back(seconds_of(world, divided));
  }
  for (std::size_t i = 0; i < n * n * n / ranks; ++i) {
    for (Transform* one : {&whole, &divided}) {
      error = std::max(error, std::abs(one->planes()[i] - value(i)));
    }
  }
  if (world.rank() == 0) {
    std::printf(
        "%zu^3, there and back: %.3f ms whole, %.3f ms in %zu pieces, %.2f times as fast; "
        "error %.0e\n",
        n, median(whole_seconds) * 1e3, median(divided_seconds) * 1e3, pieces,
        median(whole_seconds) / median(divided_seconds), error);
  }
  return error < kTolerance ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "fft_pieces: %s\n", error.what());
  return 1;
}
