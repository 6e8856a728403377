#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/installation.hpp"
#include "base/svg.hpp"
#include "nic_profiles/report/curves.hpp"
#include "nic_profiles/report/report.hpp"

namespace weft::nic_profiles {

namespace {

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
      "<tr><th>number</th><th>value</th><th>interval (95 %)</th><th>source</th></tr>\n";
  for (const NumberText& number : number_texts(report)) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escape_html(number.path), escape_html(number.value),
                        escape_html(number.interval), escape_html(number.source));
  }
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const Classification& found = report.classification;
  const std::string& name = report.profile.name;
  std::string body =
      fmt::format("<h1>{}</h1>\n<p>{}; {}</p>\n", escape_html(name),
                  escape_html(report.profile.adapter), escape_html(report.measurements.source));
  if (!report.measurements.complete) {
    body += "<p class=\"warning\">Partial: the probe was stopped before all was measured.</p>\n";
  }
  body += fmt::format("<p class=\"lead\"><strong>{}</strong>, confidence {:.2f}: {}.</p>\n",
                      to_string(found.kind), found.confidence, escape_html(found.reason));
  body += fmt::format("<p{}>Steady: {}.</p>\n",
                      report.steadiness.why_not.empty() ? "" : " class=\"warning\"",
                      escape_html(steadiness_text(report)));
  body += figures(report.measurements) + numbers_table(report);
  body += fmt::format(
      "<footer>weft {}. The figures are those of Kumar, Mamidala and Panda, "
      "Scaling Alltoall Collective on Multi-core Systems (Figs. 2 to 5), for "
      "this adapter.</footer>\n",
      kVersion);
  return html_page(name + ": weft probe", body);
}

}  // namespace weft::nic_profiles
