// HTML page around drawings and tables: one file that needs nothing else, light and dark as the
// reader's browser is set, for wide and narrow windows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// A colour of one of several things that a page shows, for a style: those of Okabe and Ito, which
/// people with any colour vision tell apart, on a light ground and on a dark one. They repeat after
/// kPageColours.
inline constexpr std::size_t kPageColours = 8;
std::string_view page_colour(std::size_t number);

/// A page of this title, which is escaped, and HTML for its body. Its style has classes for
/// "charts" (figures side by side), "grid" (lines in a drawing), "lead" (a paragraph that says the
/// most important), "warning", and "numbers" (tables with numbers on the right, in a "scroll").
std::string html_page(std::string_view title, std::string_view body);

}  // namespace weft
