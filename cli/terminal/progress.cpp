#include "cli/terminal/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace weft::cli {

namespace {
constexpr double kQuietSeconds = 2;
constexpr std::size_t kWidth = 30;
}  // namespace

Progress::Progress(std::string label, std::uint64_t total)
    : label_(std::move(label)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t done) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!terminal_ || seconds < kQuietSeconds || done == 0 || total_ == 0) return;
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const auto filled = static_cast<std::size_t>(part * kWidth);
  const std::string line = fmt::format("\r{} [{}{}] {:3.0f}%, {} left\033[K", label_,
                                       std::string(filled, '#'), std::string(kWidth - filled, '.'),
                                       100 * part, duration(seconds / part - seconds));
  std::fputs(line.c_str(), stderr);
  drawn_ = true;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace weft::cli
