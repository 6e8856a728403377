// weft replay: what the collectives of a recorded program would take on another machine.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/machine_options.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "mpi/recording/recorder.hpp"
#include "mpi/replay/replay.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostRecordingBytes = std::size_t{1} << 30;
constexpr int kMostSimulatedRanks = 1 << 20;
/// The nodes of this profile stand for one whose adapter nobody knows.
constexpr const char* kAnyNode = "soft";

struct ReplayOptions {
  Text file, nic, scaling, html;
  MachineOptions machine;
  bool json = false;
};

bool is_empty(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error || bytes == 0;
}

/// Of the job's ranks, where they left files of their own.
std::vector<mpi::RecordingFile> parts_of(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path whole(path);
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  const std::string prefix = whole.filename().string() + ".part";
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string number = name.substr(std::min(prefix.size(), name.size()));
    const bool is_number =
        !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (name.starts_with(prefix) && is_number) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  std::vector<mpi::RecordingFile> parts;
  for (const std::string& one : paths) {
    parts.push_back({one, read_text_file(one, kMostRecordingBytes, "recording")});
  }
  return parts;
}

mpi::Recording read_recording(const std::string& path) {
  if (is_empty(path)) {
    const auto parts = parts_of(path);
    if (!parts.empty()) return mpi::merge_recordings(parts);
  }
  return mpi::parse_recording(path, read_text_file(path, kMostRecordingBytes, "recording"));
}

int number_in(const mpi::Recording& recording, const char* fact) {
  const std::string& text = recording.fact(fact);
  if (text.empty()) return 0;
  return static_cast<int>(
      env::parse_integer(fmt::format("the recording's {}", fact), text, 0, kMostSimulatedRanks));
}

tune::Direct direct_by(const std::string& view) {
  if (view == "cma") return tune::Direct::calls;
  const bool by_loads = view == "shared heap" || view == "xpmem" || view == "same process";
  return by_loads ? tune::Direct::loads : tune::Direct::none;
}

/// The profile, and what is to be said of it.
nic_profiles::Profile profile_for(const ReplayOptions& options, const mpi::Recording& recording,
                                  const hierarchy::Machine& machine, std::string& note) {
  if (options.nic) return nic_profiles::load(*options.nic);
  if (!recording.fact("profile").empty()) {
    return nic_profiles::parse("the recording's profile", recording.fact("profile"));
  }
  if (machine.nodes() > 1) {
    throw_usage(
        "--nic is missing: the recording does not say by which profile of an adapter it "
        "is to be predicted; a name in the catalogue, or a file (.json)");
  }
  note = fmt::format(
      "the recording names no adapter: times inside nodes are those of {}; --nic "
      "names another",
      kAnyNode);
  return nic_profiles::load(kAnyNode);
}

mpi::Target target_for(const ReplayOptions& options, const mpi::Recording& recording,
                       std::string& note) {
  const bool is_elsewhere = options.machine.given();
  if (!is_elsewhere && options.scaling) {
    throw_usage("--scaling={}: needs another machine, as by --nodes and --ppn", *options.scaling);
  }
  const auto machine =
      is_elsewhere ? options.machine.read(kMostSimulatedRanks) : mpi::recorded_machine(recording);
  const auto profile = profile_for(options, recording, machine, note);
  mpi::Target target{.machine = machine,
                     .adapter = profile.name,
                     .hardware = profile.hardware,
                     .direct = direct_by(recording.fact("view")),
                     .deterministic = recording.fact("deterministic") == "1",
                     .scaling = mpi::Scaling::none};
  if (is_elsewhere) {
    const bool is_strong =
        options.scaling && parse_choice("--scaling", *options.scaling, {"weak", "strong"}) == 1;
    target.scaling = is_strong ? mpi::Scaling::strong : mpi::Scaling::weak;
  } else {
    target.hardware.host.cores = number_in(recording, "cores");
    target.hardware.host.nodes = std::max(1, number_in(recording, "nodes of a host"));
  }
  return target;
}

Json to_json_form(const mpi::Times& times) {
  return {{"seconds_in_collectives", times.calls},
          {"waiting_seconds", times.waiting},
          {"waiting_share", times.calls > 0 ? Json(times.waiting / times.calls) : Json()},
          {"own_work_seconds", times.work},
          {"run_seconds", times.run}};
}

Json to_json_form(const mpi::Shape& shape) {
  return {{"ranks", shape.ranks}, {"nodes", shape.nodes}};
}

Json to_json_form(const mpi::ReplayedCalls& calls) {
  const auto bytes = [](const std::optional<std::uint64_t>& number) {
    return number ? Json(*number) : Json();
  };
  Json choices = Json::array();
  for (const mpi::Choice& one : calls.choices) {
    choices.push_back({{"algorithm", one.algorithm},
                       {"time_us", one.seconds * 1e6},
                       {"simulated", one.simulated},
                       {"taken", one.taken}});
  }
  return {{"collective", calls.collective},
          {"recorded_on", to_json_form(calls.here)},
          {"recorded_bytes", bytes(calls.bytes_here)},
          {"predicted_on", to_json_form(calls.there)},
          {"predicted_bytes", bytes(calls.bytes_there)},
          {"bytes_are_mean", calls.irregular},
          {"calls", calls.calls},
          {"recorded_seconds", calls.measured_seconds},
          {"recorded_waiting_seconds", calls.measured_waiting_seconds},
          {"predicted_seconds", calls.seconds},
          {"predicted_waiting_seconds", calls.waiting_seconds},
          {"as_measured", calls.as_measured},
          {"choices", choices}};
}

Json to_json_form(const mpi::Replay& replay) {
  Json calls = Json::array(), notes = Json::array();
  for (const mpi::ReplayedCalls& one : replay.calls) calls.push_back(to_json_form(one));
  for (const std::string& note : replay.notes) notes.push_back(note);
  return {{"program", replay.program},
          {"recorded_on", replay.machine_here},
          {"predicted_on", replay.machine_there},
          {"nic", replay.adapter},
          {"scaling", mpi::to_string(replay.scaling)},
          {"scaling_rule", mpi::scaling_rule(replay)},
          {"simulations", replay.simulations},
          {"recorded", to_json_form(replay.measured)},
          {"predicted", to_json_form(replay.predicted)},
          {"calls", calls},
          {"notes", notes}};
}

int run(const ReplayOptions& options) {
  const mpi::Recording recording =
      read_recording(required(options.file, "the recording, which WEFT_TRACE=FILE wrote"));
  std::string note;
  const mpi::Target target = target_for(options, recording, note);
  OutputFile html(options.html);
  html.open();
  mpi::Replay replay;
  {
    std::optional<Progress> bar;
    replay = mpi::replay(recording, target, [&](std::uint64_t done, std::uint64_t total) {
      if (!bar) bar.emplace("simulating", total);
      bar->update(done);
    });
  }
  if (!note.empty()) replay.notes.push_back(note);
  if (options.html) html.write(to_html(replay));
  if (options.json) {
    print_json(to_json_form(replay));
  } else if (!options.html) {
    print(to_table(replay));
  }
  return kHolds;
}

}  // namespace

void add_replay(CommandLine& line) {
  const auto options = std::make_shared<ReplayOptions>();
  Command command = line.add_command(
      "replay", "Predict what a recorded program's collectives take on another machine");
  command.add_option("recording", options->file, "FILE", "What WEFT_TRACE=FILE wrote");
  options->machine.add_to(command);
  command.add_option("--nic", options->nic, "NIC",
                     "Adapter and nodes: a name in the catalogue, or a file (.json)\n"
                     "[what the recorded program chose by]");
  command.add_option("--scaling", options->scaling, "HOW",
                     "weak: a rank keeps its part of the data and the work; strong: the job\n"
                     "does [weak]");
  command.add_option("--html", options->html, "FILE", "Write a page with plots there");
  command.add_flag("--json", options->json, "Print JSON");
  command.set(
      "Without a machine: the one where it was recorded, with the predicted times beside the\n"
      "measured ones. Each call is simulated with each choice of an algorithm; what weft "
      "takes counts.\n"
      "Ranks wait for one another as their own work between the calls makes them.\n\n"
      "Ends with 0, 2 when a file is no recording.\n\n"
      "Examples:\n"
      "  mpirun -n 8 -x WEFT_TRACE=run.trace weft exec ./program\n"
      "  weft replay run.trace\n"
      "  weft replay run.trace --nic connectx-6 --nodes 64 --ppn 32\n"
      "  weft replay run.trace --nic connectx-7 --nodes 16 --ppn 64 --scaling strong --html a.html",
      [options] { return run(*options); });
}

}  // namespace weft::cli
