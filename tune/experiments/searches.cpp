#include "tune/experiments/searches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::tune {

namespace {

constexpr double kUnmeasured = std::numeric_limits<double>::infinity();

Experiment experiment(const Point& point, const Method& method, std::uint64_t segment) {
  return {point.collective, point.bytes, method.name, segment};
}

/// The best of what was tried so far.
class Best {
 public:
  void offer(const Method& method, std::uint64_t segment, double seconds) {
    if (seconds >= found_.seconds) return;
    found_ = {method.name, segment, seconds};
  }
  const Found& found() const { return found_; }

 private:
  Found found_ = {"", 0, kUnmeasured};
};

/// The way of a method down its segments.
class Descent {
 public:
  Descent(const Point& point, const Method& method, int patience)
      : point_(&point), method_(&method), segments_(segments(point, method)), patience_(patience) {}

  bool is_over() const { return next_ == segments_.size() || worse_ >= patience_; }

  /// Measures the next segment.
  void step(Laboratory& laboratory, Best& best) {
    const std::uint64_t segment = segments_[next_++];
    const double seconds = laboratory.time(experiment(*point_, *method_, segment));
    best.offer(*method_, segment, seconds);
    worse_ = seconds < best_ ? 0 : worse_ + 1;
    best_ = std::min(best_, seconds);
    rate_ = next_ > 1 ? seconds / last_ : 0;
    last_ = seconds;
  }

  /// The time to expect some segments further: as the last one, or less where times fall. After one
  /// segment no rate is known, and anything may come.
  double promise(int ahead) const {
    const auto left = static_cast<double>(segments_.size() - next_);
    return last_ * std::pow(std::min(1.0, rate_), std::min<double>(ahead, left));
  }

 private:
  const Point* point_;
  const Method* method_;
  std::vector<std::uint64_t> segments_;
  int patience_;
  std::size_t next_ = 0;
  int worse_ = 0;  // segments in a row
  double best_ = kUnmeasured;
  double last_ = 0;
  double rate_ = 0;  // of the last time to the one before
};

}  // namespace

Found exhaustive(const Point& point, Laboratory& laboratory) {
  Best best;
  for (const Method& method : point.methods) {
    for (const std::uint64_t segment : segments(point, method)) {
      best.offer(method, segment, laboratory.time(experiment(point, method, segment)));
    }
  }
  return best.found();
}

Found gradient_descent(const Point& point, Laboratory& laboratory, int patience) {
  Best best;
  for (const Method& method : point.methods) {
    Descent descent(point, method, patience);
    while (!descent.is_over()) descent.step(laboratory, best);
  }
  return best.found();
}

Found scanning(const Point& point, Laboratory& laboratory, const Scanning& how) {
  Best best;
  std::vector<Descent> open;
  for (const Method& method : point.methods) {
    open.emplace_back(point, method, how.patience).step(laboratory, best);
  }
  while (true) {
    std::erase_if(open, [&](const Descent& one) {
      return one.is_over() || one.promise(how.ahead) > how.threshold * best.found().seconds;
    });
    if (open.empty()) return best.found();
    const auto next = std::ranges::min_element(
        open, {}, [&](const Descent& one) { return one.promise(how.ahead); });
    next->step(laboratory, best);
  }
}

Found by_pipeline(const Point& point, Laboratory& laboratory, Laboratory& pipelines) {
  Best best;
  for (const Method& method : point.methods) {
    best.offer(method, 0, laboratory.time(experiment(point, method, 0)));
    if (!method.segmented) continue;
    Point alone = point;
    alone.methods = {method};
    const std::uint64_t segment = gradient_descent(alone, pipelines).segment;
    best.offer(method, segment, laboratory.time(experiment(point, method, segment)));
  }
  return best.found();
}

Found by_prediction(const Point& point, Laboratory& laboratory, const Measure& predict,
                    double doubt) {
  std::vector<Found> predictions;
  double least = kUnmeasured;
  for (const Method& method : point.methods) {
    for (const std::uint64_t segment : segments(point, method)) {
      const double seconds = predict(experiment(point, method, segment));
      predictions.push_back({method.name, segment, seconds});
      least = std::min(least, seconds);
    }
  }
  const double most = least * (1 + doubt) * (1 + doubt);
  std::erase_if(predictions, [&](const Found& one) { return one.seconds > most; });
  if (predictions.size() == 1) return predictions.front();
  Best best;
  for (const Found& one : predictions) {
    const Method method{one.method, one.segment > 0};
    best.offer(method, one.segment, laboratory.time(experiment(point, method, one.segment)));
  }
  return best.found();
}

void Doubt::learn(double predicted, double measured) {
  constexpr std::size_t kRemembered = 16;
  if (!(predicted > 0) || !(measured > 0) || measured == kUnmeasured) return;
  errors_.emplace_back(bytes_, std::log(measured / predicted));
  if (errors_.size() > kRemembered) errors_.erase(errors_.begin());
}

void Doubt::go_to(std::uint64_t bytes) {
  constexpr std::uint64_t kNear = 4;
  bytes_ = bytes;
  std::erase_if(errors_, [&](const auto& one) {
    return one.first > kNear * bytes || bytes > kNear * one.first;
  });
}

double Doubt::now() const {
  constexpr double kMargin = 2, kLeast = 0.04;
  if (!is_learnt()) return most_;
  double error = 0;
  for (const auto& [bytes, one] : errors_) error = std::max(error, std::abs(one - median()));
  return std::min(most_, std::max(kLeast, std::exp(kMargin * error) - 1));
}

double Doubt::median() const {
  std::vector<double> sorted;
  for (const auto& [bytes, one] : errors_) sorted.push_back(one);
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

double Doubt::common() const {
  return errors_.empty() ? 1 : std::exp(median());
}

Found by_taught_prediction(const Point& point, Laboratory& laboratory, const Measure& predict,
                           Doubt& doubt, double regret) {
  std::vector<Found> predictions;
  for (const Method& method : point.methods) {
    Best best;
    for (const std::uint64_t segment : segments(point, method)) {
      best.offer(method, segment, predict(experiment(point, method, segment)));
    }
    predictions.push_back(best.found());
  }
  std::ranges::sort(predictions, {}, &Found::seconds);
  doubt.go_to(point.bytes);
  const double off = 1 + doubt.now();
  const double most = predictions.front().seconds * off * off / (1 + regret);
  std::erase_if(predictions, [&, first = predictions.front()](const Found& one) {
    return one.seconds > most && one.seconds > first.seconds;
  });
  if (predictions.size() == 1) {
    Found found = predictions.front();
    found.seconds *= doubt.common();
    return found;
  }
  Best best;
  for (const Found& one : predictions) {
    // Those that follow are predicted to be slower still.
    const double least = doubt.common() * one.seconds / doubt.between();
    if (best.found().seconds <= least * (1 + regret)) break;
    const Method method{one.method, one.segment > 0};
    const double seconds = laboratory.time(experiment(point, method, one.segment));
    best.offer(method, one.segment, seconds);
    doubt.learn(one.seconds, seconds);
  }
  return best.found();
}

}  // namespace weft::tune
