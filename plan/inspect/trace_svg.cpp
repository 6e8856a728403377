// Traces as SVG: a lane for each rank, bars for its ops, lines for messages.
#include <algorithm>

#include <fmt/format.h>

#include "base/svg.hpp"
#include "plan/inspect/trace.hpp"

namespace weft::plan {

namespace {

// In units of the drawing.
constexpr double kLabelWidth = 80;
constexpr double kTimeWidth = 1100;
constexpr double kWidth = kLabelWidth + kTimeWidth + 20;
constexpr double kLaneHeight = 16;
constexpr double kBarHeight = 10;
constexpr double kHeadHeight = 24;
constexpr double kFootHeight = 24;
constexpr int kTicks = 10;

std::string_view color_of(OpKind kind) {
  switch (kind) {
    case OpKind::send:
      return "#d95f02";
    case OpKind::recv:
      return "#1b9e77";
    case OpKind::copy:
      return "#7570b3";
    case OpKind::reduce:
      return "#e7298a";
    case OpKind::signal:
    case OpKind::wait:
      return "#666666";
  }
  return "#000000";
}

double us(std::int64_t time_ps) {
  return static_cast<double>(time_ps) / 1e6;
}

/// Draws on a time axis that ends at `end_ps`.
class Drawing {
 public:
  Drawing(std::int64_t end_ps, double height)
      : end_ps_(std::max<std::int64_t>(end_ps, 1)),
        svg_(fmt::format(R"(xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                         R"(font-family="sans-serif" font-size="10")",
                         kWidth, height)) {
    svg_.rectangle(0, 0, kWidth, height, R"(fill="white")");
  }

  void text(double x, double y, std::string_view words) { svg_.text(x, y, words); }

  void bar(const Span& span, double lane) {
    const std::string title =
        fmt::format("rank {} op {}: {}{}, {} bytes, {:.3f} to {:.3f} us", span.rank, span.op,
                    to_string(span.kind), span.peer < 0 ? "" : fmt::format(" {}", span.peer),
                    span.bytes, us(span.begin_ps), us(span.end_ps));
    svg_.rectangle(x(span.begin_ps), lane, std::max(0.3, x(span.end_ps) - x(span.begin_ps)),
                   kBarHeight, fmt::format(R"(fill="{}")", color_of(span.kind)), title);
  }

  void message(const Span& span, double from, double to) {
    svg_.line(x(span.begin_ps), from + kBarHeight / 2, x(span.end_ps), to + kBarHeight / 2,
              R"(stroke="#888" stroke-width="0.5")");
  }

  void axis(double y) {
    for (int tick = 0; tick <= kTicks; ++tick) {
      const std::int64_t time_ps = end_ps_ / kTicks * tick;
      text(x(time_ps), y, fmt::format("{:.2f} us", us(time_ps)));
    }
  }

  std::string finish() && { return std::move(svg_).finish(); }

 private:
  double x(std::int64_t time_ps) const {
    return kLabelWidth + kTimeWidth * static_cast<double>(time_ps) / static_cast<double>(end_ps_);
  }

  std::int64_t end_ps_;
  Svg svg_;
};

}  // namespace

std::string to_svg(std::span<const Trace> traces) {
  std::int64_t end_ps = 0;
  double height = kFootHeight;
  for (const Trace& trace : traces) {
    for (const Span& span : trace.spans) end_ps = std::max(end_ps, span.end_ps);
    height += kHeadHeight + kLaneHeight * static_cast<double>(trace.node_of_rank.size());
  }
  Drawing drawing(end_ps, height);
  double top = 0;
  for (const Trace& trace : traces) {
    drawing.text(4, top + 14, trace.name);
    const auto lane = [&](int rank) { return top + kHeadHeight + kLaneHeight * rank; };
    const auto ranks = static_cast<int>(trace.node_of_rank.size());
    for (int rank = 0; rank < ranks; ++rank) {
      drawing.text(4, lane(rank) + 9, fmt::format("{} on {}", rank, trace.node_of_rank[rank]));
    }
    for (const Span& span : trace.spans) {
      if (span.activity == Activity::message) {
        drawing.message(span, lane(span.rank), lane(span.peer));
      }
    }
    for (const Span& span : trace.spans) {
      if (span.activity == Activity::busy) drawing.bar(span, lane(span.rank));
    }
    top = lane(ranks);
  }
  drawing.axis(top + 14);
  return std::move(drawing).finish();
}

}  // namespace weft::plan
