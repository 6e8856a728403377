#include "alltoall/schemes/aggregation.hpp"

#include <algorithm>
#include <optional>

#include "alltoall/flat/straight.hpp"
#include "alltoall/schemes/gathering.hpp"

namespace weft::alltoall {

using algorithm::FlatForm;
using hierarchy::InsideNode;
using hierarchy::LocalBlocks;
using hierarchy::Machine;
using plan::After;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

/// What goes straight does so all at once where the step between nodes passes blocks on.
constexpr FlatForm kAllAtOnce = {
    .collective = plan::Collective::alltoall,
    .reads = {algorithm::Parameter::window},
    .emit = irecv_isend,
    .swap = swap_irecv_isend,
};

class Aggregation {
 public:
  Aggregation(plan::Builder& builder, const LocalBlocks& blocks, const Machine& machine,
              const Parameters& parameters, std::span<const Lane> lanes, Gather gather)
      : builder_(builder),
        blocks_(blocks),
        machine_(machine),
        parameters_(parameters),
        step_(step_between(blocks, parameters)),
        slot_(step_.in_slots ? std::optional(std::min(parameters.slot, parameters.aggregate))
                             : std::nullopt),
        limit_(slot_.value_or(parameters.aggregate)),
        self_(builder.rank()),
        inside_(builder, blocks, machine, parameters.direct, parameters.aggregate,
                machine.nodes() == 1 || slot_),
        layout_(blocks, machine, inside_, lanes, gather, self_, limit_, slot_),
        gathering_(builder, blocks, layout_) {}

  void emit() {
    builder_.allocate_stage(layout_.stage_bytes(self_));
    exchange_straight();
    std::vector<OpId> arrived;
    if (machine_.nodes() > 1) {
      gathering_.run(inside_);
      for (const Post& post : layout_.posts()) {
        if (post.member().rank == self_) exchange(post, arrived);
      }
    }
    std::ranges::sort(arrived);
    inside_.exchange_blocks();
    if (machine_.nodes() > 1) inside_.distribute(distributing(), arrived);
  }

 private:
  static const FlatForm& step_between(const LocalBlocks& blocks, const Parameters& parameters) {
    return *parameters.between->find(blocks.constant_bytes() ? plan::Collective::alltoall
                                                             : plan::Collective::alltoallv);
  }

  void exchange_straight() {
    if (limit_ == Parameters::kEverything || blocks_.largest(self_) <= limit_) return;
    straight(builder_, blocks_, step_.forwards ? kAllAtOnce : step_, parameters_,
             [this](int peer, std::uint64_t bytes) {
               if (peer == self_) return false;
               return machine_.same_node(peer, self_) ? inside_.leaves(bytes) : bytes > limit_;
             });
  }

  void flush(After after, std::vector<OpId>& done) {
    if (targets_.empty()) return;
    builder_.copy(targets_.take(), sources_.take(), after, done);
  }

  /// Among the members of one lane. Appends the ops after which what comes is there.
  void exchange(const Post& post, std::vector<OpId>& arrived) {
    const Lane& lane = *post.lane;
    Exchange exchange;
    for (const Member& member : lane) exchange.members.push_back(member.rank);
    exchange.self = post.index;
    exchange.slot = slot_.value_or(0);
    exchange.bytes = [&, this](int from, int to) -> std::uint64_t {
      if (from == post.index) return post.out[static_cast<std::size_t>(to)].bytes;
      if (to == post.index) return post.in[static_cast<std::size_t>(from)].bytes;
      if (lane[from].node == lane[to].node) return 0;
      return lane[from].senders.size() * lane[to].receivers.size() * passed_on_bytes();
    };
    exchange.source = [&, this](int to, std::vector<Slice>& slices) {
      if (post.gathers) return add_message(post.out[static_cast<std::size_t>(to)], slices);
      for (const int target : lane[to].receivers) {
        if (layout_.out_bytes(self_, target) > 0) slices.push_back(blocks_.source(self_, target));
      }
    };
    exchange.target = [&, this](int from, std::vector<Slice>& slices) {
      if (post.distributes) return add_message(post.in[static_cast<std::size_t>(from)], slices);
      for (const int source : lane[from].senders) {
        // A block that is not there has a slot, too.
        const bool is_there = layout_.in_bytes(self_, source) > 0;
        if (is_there || slot_) slices.push_back(is_there ? blocks_.target(self_, source) : Slice());
      }
    };
    if (post.gathers) {
      exchange.ready = [&, this](int to, std::vector<OpId>& ops) {
        gathering_.add_ready(post, to, ops);
      };
    }
    if (blocks_.in_place() && !post.distributes) {
      exchange.vacated = [&, this](int from, std::vector<OpId>& ops) {
        gathering_.add_vacated(lane[from].senders, ops);
      };
    }
    const Arrived come =
        std::get<algorithm::EmitExchange>(step_.emit)(builder_, exchange, parameters_);
    if (post.distributes) arrived.insert(arrived.end(), come.begin(), come.end());
  }

  /// The room of a block between two other ranks, for steps that pass it on.
  std::uint64_t passed_on_bytes() const {
    if (slot_) return *slot_;
    const std::uint64_t bytes = blocks_.constant_bytes().value();
    return bytes <= parameters_.aggregate ? bytes : 0;
  }

  void add_message(const Message& message, std::vector<Slice>& slices) const {
    slices.push_back(Slice::contiguous(Space::stage, self_, message.offset, message.bytes));
  }

  /// From the stages of those who received to outputs.
  hierarchy::Moves distributing() {
    return {.any = [this](int from, int to) { return distributes_any(from, to); },
            .copy =
                [this](int from, int to, After after, std::vector<OpId>& done) {
                  for (const Post& post : layout_.posts()) {
                    const Member& own = post.member();
                    if (own.rank == from && post.distributes && is_one_of(own.receivers, to)) {
                      take(post, to, after, done);
                    }
                  }
                  flush(after, done);
                }};
  }

  bool distributes_any(int from, int to) const {
    for (const Post& post : layout_.posts()) {
      const Member& own = post.member();
      if (own.rank != from || !post.distributes || !is_one_of(own.receivers, to)) continue;
      for (std::size_t i = 0; i < post.in.size(); ++i) {
        if (post.in[i].bytes == 0) continue;
        if (slot_) return true;
        for (const int source : (*post.lane)[i].senders) {
          if (layout_.in_bytes(to, source) > 0) return true;
        }
      }
    }
    return false;
  }

  /// What `to` has in each message of a post.
  void take(const Post& post, int to, After after, std::vector<OpId>& done) {
    const Member& own = post.member();
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(own.receivers, to) -
                                                own.receivers.begin());
    for (std::size_t i = 0; i < post.in.size(); ++i) {
      if (post.in[i].bytes == 0) continue;
      const auto senders = (*post.lane)[i].senders;
      std::uint64_t offset = post.in[i].offset;
      for (const int source : senders) {
        offset += layout_.in_room(own.receivers.first(place), {&source, 1});
        const std::uint64_t bytes = layout_.in_bytes(to, source);
        if (bytes > 0) {
          sources_.add(Slice::contiguous(Space::stage, own.rank, offset, bytes));
          targets_.add(blocks_.target(to, source));
        }
        offset += layout_.in_room(own.receivers.subspan(place), {&source, 1});
      }
      if (!blocks_.in_place()) continue;
      std::vector<OpId> vacated(after.ids().begin(), after.ids().end());
      gathering_.add_vacated(senders, vacated);
      flush(vacated, done);
    }
  }

  plan::Builder& builder_;
  const LocalBlocks& blocks_;
  const Machine& machine_;
  const Parameters& parameters_;
  const FlatForm& step_;                     // between nodes
  const std::optional<std::uint64_t> slot_;  // in messages between nodes, where blocks have one
  const std::uint64_t limit_;                // larger blocks go straight to other nodes
  const int self_;
  InsideNode inside_;
  const StageLayout layout_;
  Gathering gathering_;
  plan::JoinedSlices targets_;  // of the move that is being put together
  plan::JoinedSlices sources_;  // of the same move
};

}  // namespace

void aggregate(plan::Builder& builder, const LocalBlocks& blocks, const Machine& machine,
               const Parameters& parameters, std::span<const Lane> lanes, Gather gather) {
  Aggregation(builder, blocks, machine, parameters, lanes, gather).emit();
}

}  // namespace weft::alltoall
