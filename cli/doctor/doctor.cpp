// weft doctor: what holds weft back on this machine, and what to type.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/env.hpp"
#include "base/installation.hpp"
#include "cli/commands.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

std::vector<std::string> variables_of_weft() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("WEFT_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::ranges::sort(names);
  return names;
}

std::string interface_here(const std::string& device, int port, int gid_index) {
  return interface_of("/", device, port, gid_index);
}

Findings look_at_all() {
  const SystemFacts system = gather_system();
  const Info info = gather_info();
  const std::string guide = own_file("libweft-guide.so");
  const auto folder = user_components();
  Findings all;
  for (Findings some :
       {check_system(system, info), check_devices(system, info, &interface_here),
        check_mpis(installed_mpis(), {guide, ::access(guide.c_str(), R_OK) == 0}),
        check_component(folder ? installed_component(*folder) : std::nullopt, openmpi_component()),
        check_settings(info, variables_of_weft())}) {
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

std::size_t count(const Findings& findings, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(findings, verdict, &Finding::verdict));
}

/// Terminals get colours, unless NO_COLOR or TERM=dumb say otherwise.
bool is_coloured() {
  return ::isatty(STDOUT_FILENO) == 1 && !env::text("NO_COLOR") && env::text("TERM") != "dumb";
}

std::string word(Verdict verdict, bool coloured) {
  std::string text = fmt::format("{:<8}", to_string(verdict));
  if (!coloured) return text;
  constexpr std::string_view kColours[] = {"\033[32m", "\033[33m", "\033[1;31m"};
  return fmt::format("{}{}\033[0m", kColours[static_cast<std::size_t>(verdict)], text);
}

std::string findings_text(const Findings& findings) {
  const bool coloured = is_coloured();
  std::string text;
  for (const Finding& found : findings) {
    text += fmt::format("{} {}: {}", word(found.verdict, coloured), found.name, found.state);
    if (!found.meaning.empty()) text += fmt::format(": {}", found.meaning);
    text += '\n';
    if (!found.remedy.empty()) text += fmt::format("         -> {}\n", found.remedy);
  }
  const std::size_t problems = count(findings, Verdict::problem);
  const std::size_t warnings = count(findings, Verdict::warning);
  if (problems + warnings == 0) return text + "nothing holds weft back here\n";
  return text + fmt::format("{}, {}\n", counted(problems, "problem"), counted(warnings, "warning"));
}

Json findings_json(const Findings& findings) {
  Json json = {{"version", kVersion},
               {"problems", count(findings, Verdict::problem)},
               {"warnings", count(findings, Verdict::warning)}};
  json["findings"] = Json::array();
  for (const Finding& found : findings) {
    json["findings"].push_back({{"verdict", to_string(found.verdict)},
                                {"name", found.name},
                                {"state", found.state},
                                {"meaning", found.meaning},
                                {"remedy", found.remedy}});
  }
  return json;
}

int run_doctor(bool json) {
  const Findings findings = look_at_all();
  json ? print_json(findings_json(findings)) : print(findings_text(findings));
  return count(findings, Verdict::ok) == findings.size() ? kHolds : kFails;
}

}  // namespace

void add_doctor(CommandLine& line) {
  const auto json = std::make_shared<bool>(false);
  Command command =
      line.add_command("doctor", "Look for what holds weft back here, and say what to type");
  command.add_flag("--json", *json, "Print JSON");
  command.set(
      "Looks at the kernel, limits, shared memory, adapters and their ports, the profile that is\n"
      "kept of them, MPIs, their add-ons and component, and settings. A line for each: ok,\n"
      "warning (weft works, but slower or not everywhere) or problem (it cannot serve some\n"
      "programs or calls), how it is, and what that means; below it behind an arrow what to type.\n"
      "Run it where the ranks run, as limits differ there.\n\n"
      "Ends with 0 when nothing holds weft back, 1 when something does, 2 for bad usage.\n\n"
      "Examples:\n"
      "  weft doctor\n"
      "  mpirun --host node1,node2 weft doctor\n"
      "  weft doctor --json",
      [json] { return run_doctor(*json); });
}

}  // namespace weft::cli
