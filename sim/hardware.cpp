#include "sim/hardware.hpp"

namespace weft::sim {

double Scaling::at(int senders) const noexcept {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (senders >= points[i].senders) continue;
    const Point& low = points[i - 1];
    const Point& high = points[i];
    const double part = static_cast<double>(senders - low.senders) / (high.senders - low.senders);
    return low.total + part * (high.total - low.total);
  }
  return points.empty() ? 1.0 : points.back().total;
}

}  // namespace weft::sim
