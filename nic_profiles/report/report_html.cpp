#include <fmt/format.h>

#include "base/installation.hpp"
#include "base/svg.hpp"
#include "nic_profiles/report/curves.hpp"
#include "nic_profiles/report/report.hpp"

namespace weft::nic_profiles {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
@media (prefers-color-scheme: dark) {
  :root { --c0: #5AB0E8; --c1: #FF8A3D; --c2: #2FC99A; --c3: #E59AC4;
          --c4: #FFC04D; --c5: #A8DCF8; --c6: #BBBBBB; --c7: #B79CE0; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
.class { font-size: 1.1rem; padding: .75rem 1rem; background: var(--soft); border-radius: .5rem; }
.partial { padding: .5rem 1rem; border: 2px solid #D55E00; border-radius: .5rem; }
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
footer { margin-top: 2rem; opacity: .7; }
)";

std::string figures(const Measurements& measurements) {
  std::string html = "<div class=\"charts\">\n";
  for (const Chart& chart : charts(measurements)) {
    html += fmt::format("<figure>\n<h2>{}</h2>\n{}</figure>\n", escape_html(chart.title),
                        to_svg(chart));
  }
  return html + "</div>\n";
}

std::string numbers_table(const Report& report) {
  std::string html =
      "<h2>The profile</h2>\n<table>\n"
      "<tr><th>number</th><th>value</th><th>source</th></tr>\n";
  for (const NumberText& number : number_texts(report)) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_html(number.path),
                        escape_html(number.value), escape_html(number.source));
  }
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const Classification& found = report.classification;
  const std::string name = escape_html(report.profile.name);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}: weft probe</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<h1>{}</h1>\n<p>{}; {}</p>\n",
      name, kStyle, name, escape_html(report.profile.adapter),
      escape_html(report.measurements.source));
  if (!report.measurements.complete) {
    html += "<p class=\"partial\">Partial: the probe was stopped before all was measured.</p>\n";
  }
  html += fmt::format("<p class=\"class\"><strong>{}</strong>, confidence {:.2f}: {}.</p>\n",
                      to_string(found.kind), found.confidence, escape_html(found.reason));
  html += figures(report.measurements) + numbers_table(report);
  return html + fmt::format(
                    "<footer>weft {}. The figures are those of Kumar, Mamidala and Panda, "
                    "Scaling Alltoall Collective on Multi-core Systems (Figs. 2 to 5), for "
                    "this adapter.</footer>\n</body>\n</html>\n",
                    kVersion);
}

}  // namespace weft::nic_profiles
