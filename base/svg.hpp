// SVG drawings and the HTML around them: elements as text, one after the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// With &, <, > and quotes as entities.
std::string escape_html(std::string_view text);

/// One <svg> element, from its opening tag on. Positions are in units of the drawing, from its top
/// left corner. `style` stands in the tag as it is: attributes such as `fill="red"`. Texts and
/// titles (which a browser shows under the pointer) are escaped; an empty title is left out.
class Svg {
 public:
  explicit Svg(std::string_view attributes);

  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void rectangle(double x, double y, double width, double height, std::string_view style,
                 std::string_view title = {});
  void circle(double x, double y, double radius, std::string_view style,
              std::string_view title = {});
  void polyline(std::span<const std::pair<double, double>> points, std::string_view style);
  void text(double x, double y, std::string_view words, std::string_view style = {});
  /// Turned to run upwards.
  void upward_text(double x, double y, std::string_view words, std::string_view style = {});
  /// The title of the whole drawing.
  void title(std::string_view words);

  std::string finish() &&;

 private:
  void close(std::string_view tag, std::string_view title);

  std::string text_;
};

}  // namespace weft
