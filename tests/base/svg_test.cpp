// SVG elements, and the escaping of texts in them.
#include "base/svg.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace weft::svg_test {
namespace {

TEST(Svg, EscapesWhatWouldEndATextOrAnAttribute) {
  EXPECT_EQ(escape_html("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

TEST(Svg, WritesOneElementAfterTheOther) {
  Svg svg(R"(width="10")");
  svg.title("a & b");
  svg.line(0, 1, 2, 3, R"(stroke="red")");
  svg.rectangle(0, 1, 2, 3, "", "<title>");
  svg.circle(1, 2, 3, R"(fill="red")");
  svg.polyline(std::array<std::pair<double, double>, 2>{{{0, 1}, {2, 3}}}, "");
  svg.text(1, 2, "x > y");
  svg.upward_text(1, 2, "up", R"(text-anchor="end")");
  const std::vector<std::string> lines = {
      R"(<svg width="10">)",
      R"(<title>a &amp; b</title>)",
      R"(<line x1="0.00" y1="1.0" x2="2.00" y2="3.0" stroke="red"/>)",
      R"(<rect x="0.00" y="1.0" width="2.00" height="3.0"><title>&lt;title&gt;</title></rect>)",
      R"(<circle cx="1.0" cy="2.0" r="3" fill="red"/>)",
      R"(<polyline points="0.0,1.0 2.0,3.0 "/>)",
      R"(<text x="1.0" y="2.0">x &gt; y</text>)",
      "<text transform=\"translate(1 2.0) rotate(-90)\" text-anchor=\"end\">up</text>",
      "</svg>",
      ""};
  EXPECT_EQ(std::move(svg).finish(), fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace
}  // namespace weft::svg_test
