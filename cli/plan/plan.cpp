// weft plan: shows the plans and costs of an algorithm, or of plans in text form.
#include <algorithm>
#include <memory>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/algorithm_names.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/machine_options.hpp"
#include "cli/options/problem_options.hpp"
#include "cli/plan/plan_files.hpp"
#include "cli/plan/plan_output.hpp"
#include "comm/setup/settings.hpp"
#include "plan/inspect/drawing.hpp"
#include "plan/text.hpp"

namespace weft::cli {

namespace {

// With more ranks the cost sheet has one line for each node only, and there is no picture.
constexpr int kRanksShown = 32;

struct PlanOptions {
  Text collective, algorithm, bytes, stride, root, element, operation, counts, rank;
  MachineOptions machine;
  std::vector<std::string> files;
  bool in_place = false;
  bool text = false;
  bool json = false;
};

/// Plans to be shown, with facts about them.
struct Subject {
  std::string title;                          // one line for people
  Json facts;                                 // the same for programs
  std::optional<hierarchy::Machine> machine;  // always there for plans of an algorithm
  std::vector<plan::Plan> plans;              // ascending by rank
  std::optional<plan::CostSheet> sheet;       // always there for plans of an algorithm
  std::string memory;                         // lines on memory that the sheet does not have
};

plan::Problem read_problem(const PlanOptions& options, plan::Collective collective, int ranks) {
  const bool barrier = collective == plan::Collective::barrier;
  const std::uint64_t bytes =
      barrier && !options.bytes
          ? 0
          : env::parse_bytes("--bytes", required(options.bytes, "--bytes, the size of a block,"), 0,
                             kMostBlockBytes);
  auto problem = make_problem(collective, ranks, bytes, parse_stride(options.stride));
  const auto only_for = [&](std::string_view option, const Text& text, bool is_right) {
    if (text && !is_right) {
      throw_usage("{}={}: {} takes none", option, *text, to_string(collective));
    }
    return text.has_value();
  };
  if (only_for("--root", options.root, is_rooted(collective))) {
    problem.root = static_cast<int>(env::parse_integer("--root", *options.root, 0, ranks - 1));
  }
  if (only_for("--element", options.element, is_reduction(collective))) {
    problem.element_bytes = env::parse_bytes("--element", *options.element, 1, 1 << 20);
    if (problem.block_bytes % problem.element_bytes != 0 ||
        problem.stride % problem.element_bytes != 0) {
      throw_usage("--element={}: blocks and their stride must be of whole elements",
                  *options.element);
    }
  }
  if (only_for("--operation", options.operation, is_reduction(collective))) {
    set_operation(problem, *options.operation);
  }
  if (options.in_place && !is_alltoall(collective)) {
    throw_usage("--in-place: {} takes none", to_string(collective));
  }
  problem.in_place = options.in_place;
  const bool vector = collective == plan::Collective::alltoallv;
  if (only_for("--counts", options.counts, vector) || vector) {
    set_counts(problem, options.counts.value_or(std::string(kCounts.front())));
  }
  return problem;
}

/// Adds the upper bound of memory over all counts, on the rank that needs the most.
void add_bound(Subject& subject, const Algorithm& algorithm, const hierarchy::Machine& machine) {
  registry::Memory most;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const auto bound = algorithm.memory_bound(machine, rank);
    if (!bound) return;
    most.stage_bytes = std::max(most.stage_bytes, bound->stage_bytes);
    most.scratch_bytes = std::max(most.scratch_bytes, bound->scratch_bytes);
  }
  subject.memory +=
      fmt::format("memory of a rank, whatever the counts: stage at most {}, scratch {}\n",
                  most.stage_bytes, most.scratch_bytes);
  subject.facts["bound"] = {{"stage_bytes", most.stage_bytes},
                            {"scratch_bytes", most.scratch_bytes}};
}

void add_transport(Subject& subject) {
  const Transport most = transport_of(*subject.sheet);
  subject.memory +=
      fmt::format("connections of a rank: {} at most, a queue pair each on every rail; {} bytes\n",
                  most.connections, most.memory_bytes);
  subject.facts["transport"] = {{"connections", most.connections},
                                {"memory_bytes", most.memory_bytes}};
}

Subject emit(const PlanOptions& options) {
  const auto collective = parse_collective(options.collective);
  const auto algorithm = Algorithm::parse(
      collective,
      required(options.algorithm, fmt::format("--algorithm ({})", algorithm_names(collective))));
  const auto machine = options.machine.read();
  const auto problem = read_problem(options, collective, machine.ranks());
  const std::uint64_t bytes = problem.block_bytes;
  Subject subject;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    subject.plans.push_back(algorithm.plan(problem, machine, rank));
  }
  subject.sheet = plan::cost_sheet(machine.node_of_rank(), subject.plans);
  subject.title =
      fmt::format("{} by {} on {} ({} on {}), blocks of {}{}", to_string(collective),
                  algorithm.name(), to_string(machine), counted(subject.plans.size(), "rank"),
                  counted(subject.sheet->by_node.size(), "node"), counted(bytes, "byte"),
                  problem.stride == bytes ? "" : fmt::format(", {} apart", problem.stride));
  if (!problem.receives.empty()) {
    subject.title += fmt::format(", {} counts", options.counts.value_or("random"));
  }
  if (problem.in_place) subject.title += ", in place";
  subject.facts = {{"collective", to_string(collective)},
                   {"algorithm", algorithm.name()},
                   {"machine", to_string(machine)},
                   {"ranks", machine.ranks()},
                   {"nodes", machine.nodes()},
                   {"block_bytes", bytes},
                   {"stride", problem.stride}};
  if (is_rooted(collective)) subject.facts["root"] = problem.root;
  if (is_alltoall(collective)) {
    subject.facts["in_place"] = problem.in_place;
    add_bound(subject, algorithm, machine);
  }
  if (problem.in_place && collective == plan::Collective::alltoall) {
    subject.memory += fmt::format(
        "up to {} bytes of blocks (half of WEFT_STAGE) are copied aside and not done in place\n",
        comm::Settings().stage_bytes / 2);
  }
  add_transport(subject);
  if (is_reduction(collective)) {
    subject.facts["element_bytes"] = problem.element_bytes;
    subject.facts["operation"] = operation_of(problem);
  }
  subject.machine = machine;
  return subject;
}

Subject read(const PlanOptions& options) {
  for (const auto& [name, text] :
       {std::pair("--algorithm", &options.algorithm), std::pair("--bytes", &options.bytes),
        std::pair("--stride", &options.stride), std::pair("--root", &options.root),
        std::pair("--element", &options.element), std::pair("--operation", &options.operation),
        std::pair("--counts", &options.counts)}) {
    if (*text) throw_usage("{}={}: not together with --file", name, **text);
  }
  if (options.in_place) throw_usage("--in-place: not together with --file");
  if (options.collective) parse_collective(options.collective);
  Subject subject;
  subject.plans = read_plans(options.files);
  subject.title = counted(subject.plans.size(), "plan");
  subject.facts = Json::object();
  if (!options.machine.given()) return subject;
  subject.machine = options.machine.read();
  subject.sheet = plan::cost_sheet(subject.machine->node_of_rank(), subject.plans);
  subject.title += " on " + to_string(*subject.machine);
  subject.facts["machine"] = to_string(*subject.machine);
  add_transport(subject);
  return subject;
}

std::string picture_of(const Subject& subject) {
  const bool small = subject.machine->ranks() <= kRanksShown;
  std::string text =
      fmt::format("{}\n\n{}{}", subject.title, to_table(*subject.sheet, small), subject.memory);
  if (small) text += "\n" + plan::draw(subject.machine->node_of_rank(), subject.plans);
  return text;
}

/// The text form, with costs as comments: parsing it gives the plan again.
std::string text_of(const Subject& subject, const plan::Plan& plan) {
  std::string text;
  if (subject.sheet) {
    const auto& cost = subject.sheet->by_rank[static_cast<std::size_t>(plan.rank())];
    text = fmt::format("# {}\n# rank {}, node {}: {}\n", subject.title, plan.rank(),
                       subject.machine->node_of(plan.rank()), describe(cost));
  }
  return text + to_text(plan);
}

std::vector<plan::Plan> plans_of_rank(const Subject& subject, const std::string& text) {
  const int last = subject.plans.empty() ? 0 : subject.plans.front().ranks() - 1;
  const auto rank = static_cast<int>(env::parse_integer("--rank", text, 0, last));
  std::vector<plan::Plan> plans;
  for (const plan::Plan& plan : subject.plans) {
    if (plan.rank() == rank) plans.push_back(plan);
  }
  if (plans.empty()) throw_usage("--rank={}: no plan in --file is for this rank", rank);
  return plans;
}

int run(const PlanOptions& options) {
  if (options.rank && options.text) {
    throw_usage("--rank={}: not together with --text, which shows every rank", *options.rank);
  }
  Subject subject = options.files.empty() ? emit(options) : read(options);
  const bool texts = options.rank || options.text || !subject.sheet;
  if (options.rank) subject.plans = plans_of_rank(subject, *options.rank);
  if (options.json) {
    Json json = subject.facts;
    if (subject.sheet) json["cost"] = to_json(*subject.sheet);
    if (texts) {
      json["plans"] = Json::array();
      for (const plan::Plan& plan : subject.plans) json["plans"].push_back(to_json(plan));
    }
    print_json(json);
    return kHolds;
  }
  if (!texts) {
    print(picture_of(subject));
    return kHolds;
  }
  for (const plan::Plan& plan : subject.plans) print(text_of(subject, plan));
  return kHolds;
}

void add_options(Command& command, PlanOptions& options) {
  command.add_option("collective", options.collective, "COLLECTIVE",
                     "What to plan: alltoall, broadcast, ...");
  command.add_option("--algorithm", options.algorithm, "A", "Algorithm, see below");
  options.machine.add_to(command);
  command.add_option("--bytes", options.bytes, "B", "Size of a block (K to E: powers of 1024)");
  command.add_option("--stride", options.stride, "B", "Distance of the blocks [their size]");
  command.add_option("--root", options.root, "R", "Root of rooted collectives [0]");
  command.add_option("--element", options.element, "B", "Size of an element of reductions [1]");
  command.add_option("--operation", options.operation, "HOW",
                     "What reductions may rely on: commutative, ordered (not commutative),\n"
                     "exact (associative to the bit, too) [commutative]");
  command.add_option("--counts", options.counts, "KIND",
                     "Counts of alltoallv: random, equal, sparse, few, skew, of --bytes\n"
                     "each or on average [random]");
  command.add_flag("--in-place", options.in_place, "Alltoall and alltoallv in place");
  command.add_option("--rank", options.rank, "R", "Print this rank's plan in its text form");
  command.add_flag("--text", options.text, "Print every rank's plan in its text form");
  command.add_repeated("--file", options.files, "PATH",
                       "Read plans in their text form instead, from this file, folder or\n"
                       "standard input (-), and print them, or their costs where a machine\n"
                       "is given (repeatable)");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_plan(CommandLine& line) {
  const auto options = std::make_shared<PlanOptions>();
  Command command = line.add_command(
      "plan", "Show the plans of an algorithm: what each rank does, and what that costs");
  add_options(command, *options);
  command.set(
      "Prints the cost sheet and, for up to 32 ranks, a picture; with --rank or --text the plans\n"
      "themselves. --file, here and of check, reads the output of --text.\n\n"
      "Examples:\n"
      "  weft plan alltoall --algorithm sa --nodes 3 --ppn 4 --bytes 512\n"
      "  weft plan alltoall --algorithm sa --nodes 3 --ppn 4 --bytes 512 --rank 5\n"
      "  weft plan alltoall --algorithm bruck:radix=4 --machine 1+3+4 --bytes 64 --json\n"
      "  weft plan allreduce --algorithm leader:leaders=2 --machine 3x4 --bytes 4K --element 8\n"
      "  weft plan alltoallv --algorithm sa:aggregate=4K --machine 1+3+4 --bytes 1K --counts skew\n"
      "  weft plan --file plan.txt\n\n" +
          list_algorithms(),
      [options] { return run(*options); });
}

}  // namespace weft::cli
