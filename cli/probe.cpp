// weft probe: measures how an adapter behaves, and says what class it is of.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "nic_profiles/probe.hpp"
#include "nic_profiles/report.hpp"
#include "nic_profiles/simulated_target.hpp"

namespace weft::cli {

namespace {

struct Options {
  Text simulate, html, output;
  bool json = false;
};

volatile std::sig_atomic_t interrupted = 0;

/// While it lives, a first interrupt is noted, and a second one ends the tool.
class NoteInterrupt {
 public:
  NoteInterrupt() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, &before_);
  }
  NoteInterrupt(const NoteInterrupt&) = delete;
  NoteInterrupt& operator=(const NoteInterrupt&) = delete;
  ~NoteInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

nic_profiles::Measurements take(nic_profiles::ProbeTarget& target) {
  const NoteInterrupt note;
  std::optional<Progress> bar;
  int shown_total = 0;
  return nic_profiles::probe(target, [&](int done, int total) {
    if (!bar) bar.emplace("probing", static_cast<std::uint64_t>(shown_total = total));
    bar->update(static_cast<std::uint64_t>(done));
    return interrupted == 0;
  });
}

/// Files are opened before anything is measured: a wrong name is told at once.
class OutputFile {
 public:
  explicit OutputFile(Text path) : path_(std::move(path)) {
    if (!path_) return;
    file_.open(*path_, std::ios::binary | std::ios::trunc);
    if (!file_) throw_errno("open(" + *path_ + ")");
  }
  void write(const std::string& text) {
    if (!path_) return;
    file_ << text << std::flush;
    if (!file_) throw_errno("write(" + *path_ + ")");
  }

 private:
  Text path_;
  std::ofstream file_;
};

int run(const Options& options) {
  const std::string& name = required(options.simulate, "--simulate NAME, an adapter or a file,");
  nic_profiles::SimulatedTarget target(nic_profiles::load(name));
  OutputFile output(options.output), html(options.html);
  const nic_profiles::Report report(take(target));
  const std::string json = to_json(report);
  output.write(json);
  html.write(to_html(report));
  print(options.json ? json : to_table(report));
  if (report.measurements.complete) return kHolds;
  throw Error("interrupted: the result is partial, and says so");
}

}  // namespace

void add_probe(CLI::App& tool, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      tool.add_subcommand("probe", "Measure how an adapter behaves, and classify it");
  command
      ->add_option("--simulate", options->simulate,
                   "Probe the simulated adapter of that name or profile")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "Print JSON")->disable_flag_override();
  command
      ->add_option("--output", options->output,
                   "Write the JSON there; --nic takes the file as a profile")
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write a page with plots there")->type_name("FILE");
  command->footer(
      "Ctrl-C stops the probe: what was measured is written, marked as partial, and the tool ends\n"
      "with 1.\n\n"
      "Examples:\n"
      "  weft probe --simulate qle7140\n"
      "  weft probe --simulate mt25208 --html mt25208.html --output mt25208.json");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::cli
