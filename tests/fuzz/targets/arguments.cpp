// Command lines of `weft`: a word a line. They are parsed and completed, not run; values of options
// that many commands have are read from each word alone.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/completion/completion.hpp"
#include "cli/options/algorithm_names.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/machine_options.hpp"
#include "cli/options/problem_options.hpp"
#include "target.hpp"

namespace {

using namespace weft::cli;
using weft::test::may_refuse;

constexpr int kRanks = 64;

void parse(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"weft"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  CommandLine line("weft", "", "weft 0");
  add_commands(line);
  may_refuse([&] { (void)line.parse(static_cast<int>(argv.size()), argv.data()); });
  if (!words.empty()) (void)complete(line.help_text(), words);
}

void read_value(const std::string& word) {
  may_refuse([&] { (void)parse_range("--ranks", word, 1, kRanks); });
  may_refuse([&] { (void)parse_sizes("--bytes", word, 0, kMostBlockBytes); });
  may_refuse([&] { (void)parse_stride(word); });
  may_refuse([&] { (void)parse_collective(word); });
  may_refuse([&] { (void)parse_machine(word, kRanks); });
  may_refuse([&] {
    auto problem = make_problem(weft::plan::Collective::allreduce, 4, 8, std::nullopt);
    set_operation(problem, word);
    weft::test::must(operation_of(problem) == word);
  });
  may_refuse([&] {
    auto problem = make_problem(weft::plan::Collective::alltoallv, 4, 8, std::nullopt);
    set_counts(problem, word);
  });
}

/// The words in the order of MachineOptions' fields; empty ones are not given.
void read_machine(const std::vector<std::string>& words) {
  MachineOptions options;
  std::size_t at = 0;
  for (Text* text :
       {&options.machine, &options.nodes, &options.ppn, &options.sockets, &options.placement}) {
    if (at < words.size() && !words[at].empty()) *text = words[at];
    ++at;
  }
  may_refuse([&] { weft::test::must(options.read(kRanks).ranks() <= kRanks); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  std::string_view text = weft::test::text_of(data, bytes);
  std::vector<std::string> words;
  while (!text.empty() && words.size() < 30) {
    const std::string_view word = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    words.emplace_back(word.substr(0, word.find('\0')));
  }
  parse(words);
  read_machine(words);
  for (const std::string& word : words) read_value(word);
  return 0;
}
