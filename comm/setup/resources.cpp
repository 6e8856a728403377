#include "comm/setup/resources.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/heap/heap.hpp"
#include "engine/views/view.hpp"
#include "hierarchy/detect.hpp"

namespace weft::comm {

namespace {

// Of the stages of a communicator that has small calls only.
constexpr std::size_t kLeastHalf = 8 << 10;
// Few sizes until the largest: each is agreed upon by all ranks, and registered with the device.
constexpr std::size_t kGrowth = 4;

Settings settings_of(const Options& options) {
  Settings settings = Settings::from_environment();
  for (const auto& [name, algorithm] : options.algorithms) {
    const plan::Collective collective = plan::parse_collective(name);
    settings.algorithms[collective] = tune::Algorithm::parse(collective, algorithm).name();
  }
  settings.deterministic |= options.deterministic;
  settings.progress_thread |= options.progress_thread;
  return settings;
}

void require_one_for_each(const char* option, std::size_t entries, int ranks) {
  if (entries == 0 || entries == static_cast<std::size_t>(ranks)) return;
  throw_usage("{} has {} entries for {} ranks", option, entries, ranks);
}

/// What this rank tells the others where nothing is known of them.
std::string facts_of_this_rank(const Settings& settings, const Options& options, int ranks) {
  require_one_for_each("node_of_rank", options.node_of_rank.size(), ranks);
  require_one_for_each("socket_of_rank", options.socket_of_rank.size(), ranks);
  const bool finds_sockets = options.socket_of_rank.empty() && settings.sockets.empty();
  return RankFacts{.host = hierarchy::host_identity(),
                   .socket = finds_sockets ? hierarchy::socket_identity() : "",
                   .mask = hierarchy::affinity_mask(),
                   .quota = hierarchy::cpu_quota(),
                   .crowded = settings.crowded_given ? settings.crowded : options.crowded}
      .to_text();
}

/// From the facts of all ranks.
std::shared_ptr<const Facts> facts_from(std::span<const std::string> texts,
                                        const Settings& settings, const Options& options,
                                        int rank) {
  std::vector<RankFacts> ranks;
  for (const std::string& text : texts) ranks.push_back(RankFacts::from_text(text));
  std::vector<int> all(ranks.size());
  std::iota(all.begin(), all.end(), 0);
  Facts facts = Facts::of(settings, machine_of(options, settings, ranks), Hosts(ranks), all, rank);
  if (options.crowded && !settings.crowded_given) {
    facts.waiting.why = *options.crowded ? "sleep (asked for)" : "spin (asked for)";
  }
  return std::make_shared<const Facts>(std::move(facts));
}

// A vote about the view: the worst that a rank has, and whether all that have none but stages see
// their neighbours' heaps.
constexpr char kSeesHeaps = '1', kSeesNone = '0';
// And whether some rank's heap serves only long blocks.
constexpr char kLongBlocks = '1', kAllBlocks = '0';
// And whether some rank names a decision table.
constexpr char kTable = '1', kNoTable = '0';
constexpr std::size_t kVoteBytes = 4;
static_assert(engine::heap::kLongBlock == tune::kLongBuffer);

std::string vote_of(engine::View view, bool sees_heaps, bool has_table) {
  const bool sees = sees_heaps || view != engine::View::staged;
  return {static_cast<char>(view), sees ? kSeesHeaps : kSeesNone,
          engine::heap::has_only_long_blocks ? kLongBlocks : kAllBlocks,
          has_table ? kTable : kNoTable};
}

/// Each is followed by a number that the rank has drawn: the largest becomes the communicator's.
std::string join_attachments(std::string_view a, std::string_view b) {
  const char votes[] = {std::max(a.at(0), b.at(0)), std::min(a.at(1), b.at(1)),
                        std::max(a.at(2), b.at(2)), std::max(a.at(3), b.at(3))};
  std::string joined(votes, kVoteBytes);
  return joined.append(std::max(a.substr(kVoteBytes), b.substr(kVoteBytes)));
}

std::string drawn_number() {
  std::string number(sizeof(std::uint64_t), '\0');
  // Where the system has none the calls of communicators may be taken for one another's.
  [[maybe_unused]] const auto got = ::getrandom(number.data(), number.size(), GRND_NONBLOCK);
  return number;
}

}  // namespace

// Each step of the set-up ends in an agreement: first each rank makes what others attach, then all
// attach it and make the rest. Nothing outside of the steps can fail on one rank alone.
Resources::Resources(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : members_(std::move(bootstrap)), host_progress_(members_.bootstrap()), facts_(options.facts) {
  Settings read;
  std::vector<std::string> facts;
  if (facts_ == nullptr) {
    facts = members_.agree([&] {
      read = settings_of(options);
      return facts_of_this_rank(read, options, members_.size());
    });
  }
  if (facts_ == nullptr) {
    // WEFT_NODES may fit on one rank and not on another.
    members_.agree([&] { facts_ = facts_from(facts, read, options, rank()); });
  }
  const auto handles = members_.agree_among(neighbours(), [&] {
    make_node();
    return node_ ? stages_->handle() + node_->handle() : std::string();
  });
  const auto attach_all = [&] {
    attach_node(handles);
    leave_descriptors(0);
    const Settings& settings = facts_->settings;
    links_ = std::make_unique<engine::Links>(
        place_of_rank_, node_.get(),
        engine::Links::Settings{settings.port, settings.eager_bytes, settings.registrations},
        options.network.get());
    executor_ = std::make_unique<engine::Executor>(
        rank(), node_.get(), facts_->waiting.crowded, *links_,
        engine::WhileWaiting{.turn = [this] { return host_progress_.while_waiting(); },
                             .progress = [this] { members_.bootstrap().progress(); },
                             .check = [this] { members_.bootstrap().check(); },
                             .give_way = [this] { requests_->give_way(); },
                             .answer = [this] { answer_about_other_nodes(); },
                             .report = [this] { report_standstill(); }},
        settings.timeout_ns);
    executor_->set_stages(stages_.get());
    const bool is_cared_for = machine().nodes() > 1;
    if (is_cared_for) links_->set_turn(turn_);
    requests_ = std::make_unique<RequestProgress>(*executor_, turn_, !facts_->waiting.crowded,
                                                  is_cared_for);
    const auto view = node_ ? best_view() : engine::View::same_process;
    const bool sees_heaps = node_ && node_->peers().sees_heaps();
    return vote_of(view, sees_heaps, !settings.table.empty()) + drawn_number();
  };
  const std::string vote = members_.vote(attach_all, join_attachments);
  members_.attach(*requests_);
  set_view(vote);
  show_rank(std::string_view(vote).substr(kVoteBytes));
}

/// This rank's part of what the ranks of its node share.
void Resources::make_node() {
  // A note says why when there is none.
  if (settings().heap_bytes) engine::heap::start(*settings().heap_bytes);
  place_of_rank_ = places_on_node_of(machine(), rank());
  const auto neighbours = machine().ranks_on(machine().node_of(rank()));
  if (neighbours.size() > 1) {
    const engine::NodeControl::Options options{.crowded = facts_->waiting.crowded,
                                               .any_crowded = facts_->any_crowded,
                                               .long_rings = facts_->is_of_all_ranks};
    node_ = std::make_unique<engine::NodeControl>(place(), neighbours, options);
  }
  if (size() > 1) {
    stages_ = std::make_unique<engine::Stages>(place(), places(), kLeastHalf, memory_use());
  }
}

void Resources::attach_node(std::span<const std::string> handles) {
  if (!node_) return;
  std::vector<std::string> nodes(handles.begin(), handles.end());
  std::vector<std::string> stages;
  for (std::string& handle : nodes) {
    stages.push_back(handle.substr(0, engine::SharedMemory::handle_bytes()));
    handle.erase(0, engine::SharedMemory::handle_bytes());
  }
  node_->attach(nodes);
  stages_->attach(stages);
}

/// The view is a fact of the whole communicator: plans that read peers' buffers are chosen by all
/// ranks or by none.
void Resources::set_view(std::string_view vote) {
  view_ = static_cast<engine::View>(vote[0]);
  only_heaps_ = view_ == engine::View::staged && vote[1] == kSeesHeaps;
  only_long_blocks_ = vote[2] == kLongBlocks;
  has_table_ = vote[3] == kTable;
  if (node_) node_->peers().set_view(view_);
  note_view();
}

void Resources::note_view() {
  view_name_ = only_heaps_ ? "shared heap, with copies of the rest" : to_string(view_);
  if (view_ == engine::View::staged && !only_heaps_ &&
      engine::best_allowed_view() != engine::View::staged) {
    members_.note(
        "peers' buffers cannot be read (process_vm_readv was refused): copies are staged");
  }
  if (std::string why = why_no_heap(); !why.empty()) members_.note(std::move(why));
  if (std::string why = why_no_xpmem(); !why.empty()) members_.note(std::move(why));
}

/// Of a heap that was asked for.
std::string Resources::why_no_heap() const {
  if (!settings().heap_bytes || !node_) return {};
  const std::string why = engine::heap::start(*settings().heap_bytes);
  if (!why.empty()) return fmt::format("no shared heap: {}", why);
  if (node_->peers().why_no_heaps().empty()) return {};
  return fmt::format("peers' shared heaps are not all seen: {}", node_->peers().why_no_heaps());
}

/// The best view by which this rank reaches the buffers of all neighbours.
engine::View Resources::best_view() {
  using engine::View;
  const View view = node_->peers().probe();
  const bool has_rest = view == View::xpmem || view == View::cma;
  return has_rest && node_->peers().sees_heaps() ? View::shared_heap : view;
}

/// Of xpmem, where it was asked for by name.
std::string Resources::why_no_xpmem() const {
  using engine::View;
  if (!node_ || engine::best_allowed_view() != View::xpmem || view_ == View::xpmem) return {};
  const std::string& why = node_->peers().why_no_xpmem();
  return fmt::format("WEFT_VIEW=xpmem: {}: peers' buffers take the next view",
                     why.empty() ? "refused by some rank" : why);
}

/// `counts_heaps`: buffers outside of the shared heap are copied there.
tune::Direct Resources::direct(bool counts_heaps) const {
  const auto by_heap = only_long_blocks_ ? tune::Direct::loads_of_long : tune::Direct::loads;
  switch (view_) {
    case engine::View::same_process:
    case engine::View::xpmem:
      return tune::Direct::loads;
    case engine::View::shared_heap:
      return by_heap;
    case engine::View::cma:
      return tune::Direct::calls;
    case engine::View::staged:
      break;
  }
  return only_heaps_ && counts_heaps ? by_heap : tune::Direct::none;
}

bool Resources::is_reached_by_loads(const void* buffer) const noexcept {
  if (view_ != engine::View::shared_heap) return view_ < engine::View::cma;
  return !engine::heap::is_hidden() && engine::heap::contains(buffer);
}

std::uint64_t Resources::bytes_by_kernel() const noexcept {
  if (!node_) return 0;
  const engine::PeerMemory& peers = node_->peers();
  return peers.moved_bytes(engine::View::cma) + peers.moved_bytes(engine::View::staged);
}

tune::Situation Resources::situation() const {
  // The buffers of an alltoallv are never copied to the shared heap.
  return {
      machine(),           direct(true),         direct(false),          settings().deterministic,
      facts_->any_crowded, facts_->busiest_host, settings().eager_bytes, settings().algorithms};
}

std::optional<nic_profiles::DeviceName> Resources::device() {
  try {
    const verbs::Endpoint& endpoint = links_->open();
    const verbs::Rail& rail = *endpoint.rails()[endpoint.nearest_first().front()];
    return nic_profiles::DeviceName{rail.device(), rail.vendor(), rail.part()};
  } catch (const Error&) {
    return std::nullopt;  // the first connection will throw it
  }
}

void Resources::make_stages(std::size_t need) {
  const std::size_t known = stages_ == nullptr ? 0 : stages_->half_bytes();
  if (stages_ != nullptr && known >= need) return;
  const std::size_t most = std::max<std::size_t>(settings().stage_bytes / 2, need);
  const std::size_t least = known > kLeastHalf ? kGrowth * known : kLeastHalf;
  const std::size_t half_bytes = std::min(most, std::max(std::bit_ceil(need), least));
  std::unique_ptr<engine::Stages> stages;
  const auto handles = members_.agree_among(neighbours(), [&] {
    stages = std::make_unique<engine::Stages>(place(), places(), half_bytes, memory_use());
    return stages->handle();
  });
  members_.agree([&] {
    stages->attach(handles);
    executor_->register_like_former(*stages);
  });
  // No neighbour still reads the old ones: all have come here since their last execution.
  executor_->set_stages(stages.get());
  if (executor_->is_idle()) outgrown_.clear();
  if (stages_ != nullptr && !executor_->is_idle()) outgrown_.push_back(std::move(stages_));
  stages_ = std::move(stages);
}

engine::Prepared Resources::prepare(const plan::Plan& plan,
                                    std::span<const engine::InlineOp> inline_ops,
                                    std::span<const int> place_of_rank) {
  if (place_of_rank.empty()) place_of_rank = place_of_rank_;
  try {
    executor_->provide(executor_->need_of(plan, place_of_rank));
    return prepare_program(engine::Program(plan, place_of_rank, places(), inline_ops));
  } catch (const std::exception& error) {
    poison_all(error.what());
  }
}

engine::Prepared Resources::prepare(engine::Program program) {
  try {
    return prepare_program(std::move(program));
  } catch (const std::exception& error) {
    poison_all(error.what());
  }
}

engine::Prepared Resources::prepare_program(engine::Program program) {
  if (program.stage_bytes() > (stages_ == nullptr ? 0 : stages_->half_bytes())) {
    throw Error(fmt::format("a plan needs stages of {} bytes", program.stage_bytes()));
  }
  return executor_->prepare(std::move(program));
}

void Resources::poison_all(std::string_view why) {
  poison_with(fmt::format("rank {}: {}", rank(), why));
}

void Resources::poison_with(std::string text) {
  executor_->poison(text);
  members_.give_up(std::move(text));
  members_.throw_poison();
}

void Resources::require_no_failure() {
  if (executor_->failure().empty()) return;
  members_.poison(executor_->failure());
  if (engine::is_disagreement(executor_->failure())) throw CallError(executor_->failure());
  members_.throw_poison();
}

}  // namespace weft::comm
