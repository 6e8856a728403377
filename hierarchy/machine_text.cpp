// The text forms of machines.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "hierarchy/domains.hpp"

namespace weft::hierarchy {

namespace {

constexpr std::string_view kCyclic = ":cyclic";

/// A whole number from 0 to kMostRanks and nothing else.
std::optional<int> number_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0 ||
      value > Machine::kMostRanks) {
    return std::nullopt;
  }
  return value;
}

/// The numbers between the separators; nullopt when a part is not a number.
std::optional<std::vector<int>> numbers_in(std::string_view text, char separator) {
  std::vector<int> numbers;
  while (true) {
    const auto length = std::min(text.find(separator), text.size());
    const auto number = number_in(text.substr(0, length));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (length == text.size()) return numbers;
    text.remove_prefix(length + 1);
  }
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  const bool there = text.ends_with(suffix);
  if (there) text.remove_suffix(suffix.size());
  return there;
}

std::string join(std::span<const int> numbers, char separator) {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

/// "3x4", "3x4:cyclic", "3x2x4".
std::optional<Machine> product_in(std::string_view text) {
  const bool dealt = take_suffix(text, kCyclic);
  const auto numbers = numbers_in(text, 'x');
  if (!numbers || numbers->size() < 2 || numbers->size() > (dealt ? 2u : 3u)) return std::nullopt;
  const int nodes = (*numbers)[0];
  if (dealt) return Machine::cyclic(nodes, (*numbers)[1]);
  if (numbers->size() == 2) return Machine::uniform(nodes, (*numbers)[1]);
  const int domains = (*numbers)[1];
  const int ranks = (*numbers)[2];
  if (domains < 1 || ranks < 1 || ranks > Machine::kMostRanks / domains) return std::nullopt;
  return in_blocks(Machine::uniform(nodes, domains * ranks), domains);
}

/// The forms with nodes alone, and "3x2x4".
std::optional<Machine> nodes_in(std::string_view text) {
  if (text.find('x') != text.npos) return product_in(text);
  if (text.find('+') != text.npos) {
    if (const auto sizes = numbers_in(text, '+')) return Machine::uneven(*sizes);
  } else if (text.find(',') != text.npos) {
    if (auto nodes = numbers_in(text, ',')) return Machine(std::move(*nodes));
  }
  return std::nullopt;
}

/// All forms of the nodes of ranks.
std::vector<std::string> forms_of_nodes(const Machine& machine) {
  const int nodes = machine.nodes();
  const int ppn = machine.ranks() / nodes;
  std::vector<int> sizes;
  for (int node = 0; node < nodes; ++node) {
    sizes.push_back(static_cast<int>(machine.ranks_on(node).size()));
  }
  std::vector<std::string> forms;
  if (ppn * nodes == machine.ranks()) {
    if (machine == Machine::uniform(nodes, ppn)) forms.push_back(fmt::format("{}x{}", nodes, ppn));
    if (machine == Machine::cyclic(nodes, ppn)) {
      forms.push_back(fmt::format("{}x{}:cyclic", nodes, ppn));
    }
  }
  if (nodes > 1 && machine == Machine::uneven(sizes)) forms.push_back(join(sizes, '+'));
  if (machine.ranks() > 1) forms.push_back(join(machine.node_of_rank(), ','));
  return forms;
}

std::string shortest(const std::vector<std::string>& forms) {
  return *std::ranges::min_element(forms, {}, &std::string::size);
}

/// All forms of the domains of a node's ranks.
std::vector<std::string> forms_of_domains(const Machine& machine, const Machine& nodes) {
  int most = 0;
  for (int node = 0; node < machine.nodes(); ++node) {
    most = std::max(most, machine.domains_on(node));
  }
  std::vector<int> numbers;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    numbers.push_back(machine.domain_of(rank) - machine.first_domain(machine.node_of(rank)));
  }
  std::vector<std::string> forms = {join(numbers, ',')};
  if (machine == in_blocks(nodes, most)) forms.push_back(fmt::format("{}", most));
  if (machine == dealt_out(nodes, most)) forms.push_back(fmt::format("{}{}", most, kCyclic));
  return forms;
}

}  // namespace

std::optional<Machine> parse_domains(const Machine& machine, std::string_view text) {
  if (text.find(',') != text.npos) {
    const auto labels = numbers_in(text, ',');
    if (!labels || static_cast<int>(labels->size()) != machine.ranks()) return std::nullopt;
    return machine.with_domains(*labels);
  }
  const bool dealt = take_suffix(text, kCyclic);
  const auto domains = number_in(text);
  if (!domains || *domains < 1) return std::nullopt;
  return dealt ? dealt_out(machine, *domains) : in_blocks(machine, *domains);
}

Machine Machine::parse(std::string_view text) {
  try {
    const auto slash = text.find('/');
    auto machine = nodes_in(text.substr(0, slash));
    if (machine && slash != text.npos) {
      machine =
          machine->has_domains() ? std::nullopt : parse_domains(*machine, text.substr(slash + 1));
    }
    if (machine) return *std::move(machine);
  } catch (const UsageError&) {
    // Well-formed numbers, but not a machine: the message below lists the forms.
  }
  throw_usage(
      "machine '{}': not NODESxRANKS (3x4), NODESxRANKS:cyclic, NODESxSOCKETSxRANKS (3x2x4), ranks "
      "a node joined by + (1+3+4), or the node of each rank (0,1,0,1) without gaps, of at most {} "
      "ranks; behind any of these the sockets of a node: /2 (in blocks), /2:cyclic, or /0,0,1,1 "
      "(of each rank)",
      text, kMostRanks);
}

std::string to_string(const Machine& machine) {
  if (!machine.has_domains()) return shortest(forms_of_nodes(machine));
  const Machine nodes = machine.without_domains();
  std::vector<std::string> forms = {shortest(forms_of_nodes(nodes)) + "/" +
                                    shortest(forms_of_domains(machine, nodes))};
  const int domains = machine.domains() / machine.nodes();
  const int ranks = machine.ranks() / machine.domains();
  if (machine.ranks() == machine.nodes() * domains * ranks &&
      machine == in_blocks(Machine::uniform(machine.nodes(), domains * ranks), domains)) {
    forms.push_back(fmt::format("{}x{}x{}", machine.nodes(), domains, ranks));
  }
  return *std::ranges::min_element(forms, {}, [](const std::string& form) {
    return std::pair(form.find('/') != form.npos, form.size());
  });
}

}  // namespace weft::hierarchy
