#include "tests/plan/program.hpp"

#include <map>
#include <tuple>

namespace weft::plan::testing {

Layout::Layout(const Case& plans) {
  for (const Plan& plan : plans.plans) {
    for (const Space space : {Space::input, Space::output, Space::stage, Space::scratch}) {
      begin_.push_back(size_);
      size_ += plan.space_bytes(space);
    }
  }
  begin_.push_back(size_);
}

std::vector<Address> Layout::addresses(const Slice& slice) const {
  const std::size_t space =
      static_cast<std::size_t>(slice.owner) * 4 + static_cast<std::size_t>(slice.space);
  if (slice.owner < 0 || space + 1 >= begin_.size()) throw Failure{"no such rank"};
  std::vector<Address> list;
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    for (std::uint64_t j = 0; j < slice.block_bytes; ++j) {
      const std::size_t index = begin_[space] + slice.offset + i * slice.stride + j;
      if (index >= begin_[space + 1]) throw Failure{"out of bounds"};
      list.push_back({index, slice.space, slice.owner});
    }
  }
  return list;
}

Program::Program(const Case& plans) : layout(plans), plans_(plans) {
  std::map<std::tuple<OpKind, int, int>, std::vector<std::size_t>> channels;
  for (const Plan& plan : plans.plans) {
    const std::size_t first = tasks.size();
    for (OpId id = 0; id < plan.ops().size(); ++id) {
      Task task{plan.rank(), plan.ops()[id], {}, kNone, kNone, kNone, {}, {}};
      for (const OpId before : plan.after(id)) task.after.push_back(first + before);
      add_accesses(task);
      if (task.op.peer >= 0) {
        auto& channel = channels[{task.op.kind, task.rank, task.op.peer}];
        if (!channel.empty()) task.previous = channel.back();
        channel.push_back(tasks.size());
      }
      tasks.push_back(std::move(task));
    }
  }
  for (const auto& [key, list] : channels) {
    const auto [kind, rank, peer] = key;
    const OpKind other = kind == OpKind::send     ? OpKind::recv
                         : kind == OpKind::recv   ? OpKind::send
                         : kind == OpKind::signal ? OpKind::wait
                                                  : OpKind::signal;
    const auto there = channels.find({other, peer, rank});
    if (there == channels.end() || there->second.size() != list.size()) {
      throw Failure{"something has no other end"};
    }
    for (std::size_t k = 0; k < list.size(); ++k) join(list[k], there->second[k]);
  }
}

void Program::set_capacity(std::size_t capacity) {
  for (auto& task : tasks) {
    if (task.op.kind != OpKind::send) continue;
    const Task* message = &task;
    for (std::size_t i = 0; i < capacity && message != nullptr; ++i) {
      message = message->previous == kNone ? nullptr : &tasks[message->previous];
    }
    task.credit = message == nullptr ? kNone : message->partner;
  }
}

void Program::join(std::size_t task, std::size_t partner) {
  tasks[task].partner = partner;
  const std::size_t mine = std::max(tasks[task].reads.size(), tasks[task].writes.size());
  const std::size_t other = std::max(tasks[partner].reads.size(), tasks[partner].writes.size());
  if (mine != other) throw Failure{"two sizes of one message"};
  const auto node = [&](int rank) { return plans_.node_of_rank[static_cast<std::size_t>(rank)]; };
  const OpKind kind = tasks[task].op.kind;
  if ((kind == OpKind::signal || kind == OpKind::wait) &&
      node(tasks[task].rank) != node(tasks[task].op.peer)) {
    throw Failure{"a signal between nodes"};
  }
}

void Program::add_accesses(Task& task) const {
  task.writes = layout.addresses(task.op.dst);
  task.reads = layout.addresses(task.op.src);
  for (const Address& address : task.reads) check(task, address, false);
  for (const Address& address : task.writes) check(task, address, true);
  if (task.op.kind == OpKind::reduce) {
    task.reads.insert(task.reads.end(), task.writes.begin(), task.writes.end());
  }
}

void Program::check(const Task& task, const Address& address, bool write) const {
  if (write && address.space == Space::input) throw Failure{"writes an input"};
  if (address.owner == task.rank) return;
  const bool message = task.op.kind == OpKind::send || task.op.kind == OpKind::recv;
  if (plans_.node_of_rank[static_cast<std::size_t>(address.owner)] !=
          plans_.node_of_rank[static_cast<std::size_t>(task.rank)] ||
      address.space == Space::scratch || (message && address.space != Space::stage)) {
    throw Failure{"out of reach"};
  }
}

}  // namespace weft::plan::testing
