#include "base/svg.hpp"

#include <iterator>

#include <fmt/format.h>

namespace weft {

namespace {

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

/// `style` as it stands behind the other attributes of a tag.
std::string behind(std::string_view style) {
  return style.empty() ? "" : fmt::format(" {}", style);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

Svg::Svg(std::string_view attributes) {
  append(text_, "<svg {}>\n", attributes);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  append(text_, R"(<line x1="{:.2f}" y1="{:.1f}" x2="{:.2f}" y2="{:.1f}"{}/>)", x1, y1, x2, y2,
         behind(style));
  text_ += '\n';
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view style,
                    std::string_view title) {
  append(text_, R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"{})", x, y, width,
         height, behind(style));
  close("rect", title);
}

void Svg::circle(double x, double y, double radius, std::string_view style,
                 std::string_view title) {
  append(text_, R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:g}"{})", x, y, radius, behind(style));
  close("circle", title);
}

void Svg::polyline(std::span<const std::pair<double, double>> points, std::string_view style) {
  text_ += "<polyline points=\"";
  for (const auto& [x, y] : points) append(text_, "{:.1f},{:.1f} ", x, y);
  append(text_, "\"{}/>\n", behind(style));
}

void Svg::text(double x, double y, std::string_view words, std::string_view style) {
  append(text_, "<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, behind(style),
         escape_html(words));
}

void Svg::upward_text(double x, double y, std::string_view words, std::string_view style) {
  append(text_, "<text transform=\"translate({:g} {:.1f}) rotate(-90)\"{}>{}</text>\n", x, y,
         behind(style), escape_html(words));
}

void Svg::title(std::string_view words) {
  append(text_, "<title>{}</title>\n", escape_html(words));
}

void Svg::close(std::string_view tag, std::string_view title) {
  if (title.empty()) {
    text_ += "/>\n";
  } else {
    append(text_, "><title>{}</title></{}>\n", escape_html(title), tag);
  }
}

std::string Svg::finish() && {
  return std::move(text_) + "</svg>\n";
}

}  // namespace weft
