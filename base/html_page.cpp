#include "base/html_page.hpp"

#include <array>

#include <fmt/format.h>

#include "base/svg.hpp"

namespace weft {

namespace {

constexpr std::array<std::string_view, kPageColours> kColours = {
    "var(--c0,#0072B2)", "var(--c1,#D55E00)", "var(--c2,#009E73)", "var(--c3,#CC79A7)",
    "var(--c4,#E69F00)", "var(--c5,#56B4E9)", "var(--c6,#777777)", "var(--c7,#8C6BB1)"};

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
@media (prefers-color-scheme: dark) {
  :root { --c0: #5AB0E8; --c1: #FF8A3D; --c2: #2FC99A; --c3: #E59AC4;
          --c4: #FFC04D; --c5: #A8DCF8; --c6: #BBBBBB; --c7: #B79CE0; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
.lead { font-size: 1.1rem; padding: .75rem 1rem; background: var(--soft); border-radius: .5rem; }
.warning { padding: .5rem 1rem; border: 2px solid #D55E00; border-radius: .5rem; }
.charts { display: grid; gap: 2rem; margin: 2rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); }
figure { margin: 0; }
svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg .grid { stroke: var(--line); stroke-width: 1; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
td:nth-child(2) { white-space: nowrap; font-variant-numeric: tabular-nums; }
td:first-child { font-family: ui-monospace, monospace; font-size: .9em; }
.numbers { font-variant-numeric: tabular-nums; }
.numbers th, .numbers td { white-space: nowrap; vertical-align: bottom; }
.numbers .n { text-align: right; }
.scroll { overflow-x: auto; margin-bottom: 2rem; }
.note { opacity: .7; margin: .25rem 0 .5rem; }
footer { margin-top: 2rem; opacity: .7; }
)";

}  // namespace

std::string_view page_colour(std::size_t number) {
  return kColours[number % kColours.size()];
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escape_html(title), kStyle, body);
}

}  // namespace weft
