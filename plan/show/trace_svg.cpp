// Traces as a drawing.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/error.hpp"
#include "plan/show/trace.hpp"

namespace weft::plan {

namespace {

// In units of the drawing.
constexpr double kLabelWidth = 80;
constexpr double kTimeWidth = 1100;
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

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

class Drawing {
 public:
  Drawing(std::int64_t end_ps, double height) : end_ps_(std::max<std::int64_t>(end_ps, 1)) {
    fmt::format_to(out_,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
                   "font-family=\"sans-serif\" font-size=\"10\">\n"
                   "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
                   kLabelWidth + kTimeWidth + 20, height);
  }

  void text(double x, double y, std::string_view words) {
    fmt::format_to(out_, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, escaped(words));
  }

  void bar(const Span& span, double lane) {
    fmt::format_to(out_,
                   "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\">"
                   "<title>rank {} op {}: {}{}, {} bytes, {:.3f} to {:.3f} us</title></rect>\n",
                   x(span.begin_ps), lane, std::max(0.3, x(span.end_ps) - x(span.begin_ps)),
                   kBarHeight, color_of(span.kind), span.rank, span.op, to_string(span.kind),
                   span.peer < 0 ? "" : fmt::format(" {}", span.peer), span.bytes,
                   us(span.begin_ps), us(span.end_ps));
  }

  void message(const Span& span, double from, double to) {
    fmt::format_to(out_,
                   "<line x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\" stroke=\"#888\" "
                   "stroke-width=\"0.5\"/>\n",
                   x(span.begin_ps), from + kBarHeight / 2, x(span.end_ps), to + kBarHeight / 2);
  }

  void axis(double y) {
    for (int tick = 0; tick <= kTicks; ++tick) {
      const std::int64_t time_ps = end_ps_ / kTicks * tick;
      text(x(time_ps), y, fmt::format("{:.2f} us", us(time_ps)));
    }
  }

  std::string finish() && { return std::move(text_) + "</svg>\n"; }

 private:
  static double us(std::int64_t time_ps) { return static_cast<double>(time_ps) / 1e6; }
  double x(std::int64_t time_ps) const {
    return kLabelWidth + kTimeWidth * static_cast<double>(time_ps) / static_cast<double>(end_ps_);
  }

  std::int64_t end_ps_;
  std::string text_;
  std::back_insert_iterator<std::string> out_ = std::back_inserter(text_);
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
