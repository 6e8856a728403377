// Runs a target over the files of the folders that are named, and over changed copies of them that
// are the same in every run, where there is no libFuzzer.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "target.hpp"

namespace {

using Input = std::vector<std::uint8_t>;

constexpr int kChangedCopies = 50;

std::size_t below(std::mt19937& random, std::size_t bound) {
  return bound == 0 ? 0 : random() % bound;
}

/// A few bytes of it changed, added, removed or repeated; or its end cut off.
Input changed(Input input, std::mt19937& random) {
  for (std::size_t times = 1 + below(random, 4); times > 0; --times) {
    const std::size_t at = below(random, input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t run = std::min(input.size() - at, 1 + below(random, 8));
    const auto end = place + static_cast<std::ptrdiff_t>(run);
    switch (random() % 5) {
      case 0:
        input.insert(place, static_cast<std::uint8_t>(random()));
        break;
      case 1:
        input.erase(place, end);
        break;
      case 2: {
        const Input piece(place, end);
        const std::size_t to = below(random, input.size() + 1);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
        break;
      }
      case 3:
        if (random() % 4 == 0) input.resize(at);
        break;
      default:
        if (at < input.size()) input[at] ^= static_cast<std::uint8_t>(1U << random() % 8);
    }
  }
  return input;
}

void run(Input input) {
  // In memory of just that size: a sanitizer sees each byte behind it.
  input.shrink_to_fit();
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      const Input input(bytes.begin(), bytes.end());
      run(input);
      std::mt19937 random(static_cast<std::mt19937::result_type>(input.size()));
      for (int copy = 0; copy < kChangedCopies; ++copy) run(changed(input, random));
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
