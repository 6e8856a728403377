#include "verbs/connection/flow.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/other_build.hpp"

namespace weft::verbs {

namespace {

// Idle flows of an offer. Both ends have nearly the same ones idle, and offer the oldest.
constexpr std::size_t kMostOffered = 4;

/// Counts of an idle flow at one end. Of a flow that both ends have idle the numbers agree, and
/// each end has received what the other sent.
struct IdleFlow {
  std::uint32_t number = 0;  // this end's, and the peer's, of its wire
  std::uint32_t peer_number = 0;
  std::uint64_t sent = 0;  // messages
  std::uint64_t received = 0;
  std::uint64_t uses = 0;

  /// The same at both ends.
  std::pair<std::uint32_t, std::uint32_t> order() const noexcept {
    return std::minmax(number, peer_number);
  }
  bool is_other_end_of(const IdleFlow& peer) const noexcept {
    return number == peer.peer_number && peer_number == peer.number && sent == peer.received &&
           received == peer.sent && uses == peer.uses;
  }
};

IdleFlow describe(const Flow& flow) {
  return {flow.wire.number(), flow.wire.peer_number(), flow.channel.sent(), flow.channel.received(),
          flow.wire.uses()};
}

/// Reads a value from the front of a text.
template <class Value>
Value read(std::string_view& text) {
  Value value;
  if (text.size() < sizeof value) throw_other_build("the state of a flow", text.size());
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}

std::string_view read_text(std::string_view& text) {
  const auto bytes = read<std::uint32_t>(text);
  if (text.size() < bytes) throw_other_build("the state of a flow", text.size());
  const std::string_view result = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return result;
}

template <class Value>
void write(std::string& text, const Value& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void write_text(std::string& text, std::string_view part) {
  write(text, static_cast<std::uint32_t>(part.size()));
  text += part;
}

}  // namespace

FlowGroup::FlowGroup(Endpoint& endpoint) : endpoint_(endpoint) {
  const auto guard = endpoint.guard();
  connection_ = std::make_unique<Connection>(endpoint);
}

FlowGroup::~FlowGroup() {
  {
    const auto guard = endpoint_.guard();
    connection_->end();  // before the flows' memory goes
  }
  flows_.clear();
}

bool FlowGroup::ask(const std::array<char, Notice::kReasonBytes>& text) noexcept {
  const Endpoint::Guard guard = endpoint_.guard();
  return connection_->ask(text);
}

void FlowGroup::stop_answering() noexcept {
  const auto guard = endpoint_.guard();
  connection_->stop_answering();
}

void FlowGroup::prepare_to_end() noexcept {
  const auto guard = endpoint_.guard();
  connection_->prepare_to_end();
}

void FlowGroup::give_back(Flow& flow) noexcept {
  const auto guard = endpoint_.guard();
  flow.wire.set_in_use(false);
  if (flow.channel.is_clean()) idle_.push_back(&flow);
}

void FlowGroup::abandon(Flow& flow) noexcept {
  const auto guard = endpoint_.guard();
  flow.wire.set_in_use(false);
}

/// Destroys a flow that the peer never writes to.
void FlowGroup::discard(Flow& flow) {
  std::unique_ptr<Flow> gone;
  const auto guard = endpoint_.guard();
  const auto found = std::ranges::find(flows_, &flow, &std::unique_ptr<Flow>::get);
  gone = std::move(*found);
  flows_.erase(found);
}

FlowOffer::FlowOffer(FlowGroup& group, std::uint64_t rendezvous_bytes)
    : group_(group), rendezvous_bytes_(rendezvous_bytes) {
  if (group.has_failed()) {
    throw Error(fmt::format("the connection has failed before: {}", group.failure()));
  }
  auto fresh = std::make_unique<Flow>(*group.connection_, rendezvous_bytes);
  const auto guard = group.endpoint_.guard();
  group.flows_.push_back(std::move(fresh));
  fresh_ = group.flows_.back().get();
  std::vector<Flow*>& idle = group.idle_;
  idle.reserve(group.flows_.size());  // so that give_back() need not allocate
  std::erase_if(idle, [](const Flow* flow) { return !flow->channel.is_clean(); });
  std::ranges::sort(idle, {}, [](const Flow* flow) { return describe(*flow).order(); });
  const std::size_t offered = std::min(kMostOffered, idle.size());
  const auto end = idle.begin() + static_cast<std::ptrdiff_t>(offered);
  idle_.assign(idle.begin(), end);
  idle.erase(idle.begin(), end);
}

FlowOffer::~FlowOffer() {
  if (fresh_ != nullptr) group_.abandon(*fresh_);
}

std::string FlowOffer::text() const {
  std::string text;
  {
    const auto guard = group_.endpoint_.guard();
    write_text(text, group_.connection_->address());
  }
  write_text(text, fresh_->wire.address());
  for (const Flow* flow : idle_) write(text, describe(*flow));
  return text;
}

Flow& FlowOffer::accept(std::string_view peer) {
  const std::string_view connection = read_text(peer);
  const std::string_view wire = read_text(peer);
  std::vector<IdleFlow> theirs;
  while (!peer.empty()) theirs.push_back(read<IdleFlow>(peer));
  bool is_first = false;
  {
    const auto guard = group_.endpoint_.guard();
    group_.connection_->connect(connection);
    is_first = group_.connection_->address() < connection;
  }
  Flow* chosen = nullptr;
  std::uint32_t best = UINT32_MAX;
  for (Flow* flow : idle_) {
    const IdleFlow mine = describe(*flow);
    // Both ends choose by the numbers of the same end.
    const std::uint32_t number = is_first ? mine.number : mine.peer_number;
    const auto matches = [&](const IdleFlow& their) { return mine.is_other_end_of(their); };
    if (number >= best || std::ranges::none_of(theirs, matches)) continue;
    best = number;
    chosen = flow;
  }
  if (chosen == nullptr) {
    fresh_->wire.connect(wire);
    chosen = std::exchange(fresh_, nullptr);
  } else {
    // The other end chooses the same, so it never writes to the new one.
    group_.discard(*std::exchange(fresh_, nullptr));
    chosen->channel.reopen(rendezvous_bytes_);
  }
  const auto guard = group_.endpoint_.guard();
  chosen->wire.set_in_use(true);
  for (Flow* flow : idle_) {
    if (flow != chosen) group_.idle_.push_back(flow);
  }
  idle_.clear();
  return *chosen;
}

}  // namespace weft::verbs
