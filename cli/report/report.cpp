// weft report: shows the report of a run that WEFT_REPORT=FILE.json wrote, or compares two.
#include <memory>

#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/terminal/output.hpp"
#include "mpi/summary/comparison.hpp"
#include "mpi/summary/summary.hpp"

namespace weft::cli {

namespace {

struct ReportOptions {
  Text file, other, html;
  bool json = false;
};

constexpr std::size_t kMostReportBytes = std::size_t{1} << 30;

mpi::Summary read_report(const std::string& path) {
  return mpi::parse_summary(path, read_text_file(path, kMostReportBytes, "report"));
}

Json to_json_form(const mpi::Done& done) {
  return {{"calls", done.calls},
          {"bytes", done.bytes},
          {"seconds", done.seconds},
          {"waiting_seconds", done.waiting_seconds},
          {"passed_seconds", done.passed_seconds},
          {"ways", done.ways}};
}

Json ratio(double before, double after) {
  return before > 0 ? Json(after / before) : Json();
}

Json to_json_form(const std::vector<mpi::ComparedCalls>& all) {
  Json list = Json::array();
  for (const mpi::ComparedCalls& calls : all) {
    Json one = {{"collective", calls.collective},
                {"before", to_json_form(calls.before)},
                {"after", to_json_form(calls.after)},
                {"ratio", ratio(calls.before.seconds, calls.after.seconds)}};
    if (calls.shape.ranks != 0) {
      one["ranks"] = calls.shape.ranks;
      one["nodes"] = calls.shape.nodes;
    }
    if (calls.block_bytes_at_most) one["block_bytes_at_most"] = *calls.block_bytes_at_most;
    list.push_back(std::move(one));
  }
  return list;
}

Json to_json_form(const mpi::Comparison& comparison) {
  Json times = Json::array();
  for (const mpi::ComparedTimes& one : comparison.times) {
    const std::string what = one.what.substr(one.what.find_first_not_of(' '));
    times.push_back({{"what", what},
                     {"before", one.before},
                     {"after", one.after},
                     {"ratio", ratio(one.before, one.after)}});
  }
  return {{"times", times},
          {"by_collective", to_json_form(comparison.by_collective)},
          {"by_size", to_json_form(comparison.by_size)}};
}

void show_comparison(const ReportOptions& options, const mpi::Summary& before) {
  const mpi::Comparison comparison = mpi::compare(before, read_report(*options.other));
  if (options.json) return print_json(to_json_form(comparison));
  print(fmt::format("before: {}\nafter: {}\n\n", *options.file, *options.other) +
        to_table(comparison));
}

int run(const ReportOptions& options) {
  const mpi::Summary summary = read_report(required(options.file, "the report (a .json file)"));
  if (options.other && options.html) {
    throw_usage("--html={}: a page is of one run", *options.html);
  }
  OutputFile html(options.html);
  html.open();
  if (options.html) html.write(to_html(summary));
  if (options.other) {
    show_comparison(options, summary);
  } else if (options.json) {
    print(to_json(summary));
  } else if (!options.html) {
    print(to_table(summary));
  }
  return kHolds;
}

}  // namespace

void add_report(CommandLine& line) {
  const auto options = std::make_shared<ReportOptions>();
  Command command =
      line.add_command("report", "Show the report of an MPI program's run, or compare two");
  command.add_option("report", options->file, "FILE", "What WEFT_REPORT=FILE.json wrote");
  command.add_option("other", options->other, "FILE", "A second one: what it did otherwise");
  command.add_option("--html", options->html, "FILE", "Write a page with plots there");
  command.add_flag("--json", options->json, "Print JSON");
  command.set(
      "Ratios are of the second run to the first. Times of a comparison are those of a rank, the\n"
      "mean of all.\n\n"
      "Ends with 0, 2 when a file is no report.\n\n"
      "Examples:\n"
      "  mpirun -n 8 -x WEFT_REPORT=a.json weft exec ./program\n"
      "  weft report a.json\n"
      "  weft report a.json --html a.html\n"
      "  weft report a.json b.json",
      [options] { return run(*options); });
}

}  // namespace weft::cli
