#include "tune/experiments/experiment.hpp"

#include <bit>

namespace weft::tune {

std::vector<std::uint64_t> segments(const Point& point, const Method& method) {
  std::vector<std::uint64_t> list = {0};
  if (!method.segmented || point.bytes < 2) return list;
  for (std::uint64_t one = std::bit_floor(point.bytes - 1); one >= point.least_segment && one > 0;
       one /= 2) {
    list.push_back(one);
  }
  return list;
}

double Laboratory::time(const Experiment& experiment) {
  const auto found = known_.find(experiment);
  if (found != known_.end()) return found->second;
  const double seconds = measure_(experiment);
  known_[experiment] = seconds;
  ++taken_;
  seconds_ += seconds * runs_;
  return seconds;
}

}  // namespace weft::tune
