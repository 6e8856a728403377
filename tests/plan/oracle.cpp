#include "tests/plan/oracle.hpp"

#include <algorithm>
#include <array>

#include "plan/verify/contract.hpp"
#include "tests/plan/program.hpp"

namespace weft::plan::testing {

namespace {

using Word = std::uint64_t;  // a "byte" with so many values that none is right by chance

/// A reduction that shows what it was given: where it commutes a sum, else the composition of maps
/// x -> a x + b modulo a prime, a word holding a and b. Associative, so any grouping will do.
Word combined(const Problem& problem, Word left, Word right) {
  if (problem.commutative) return left + right;
  constexpr Word kPrime = (1u << 31) - 1;
  const auto a = [](Word word) { return (word & UINT32_MAX) % kPrime; };
  const auto b = [](Word word) { return (word >> 32) % kPrime; };
  return a(left) * a(right) % kPrime | ((a(left) * b(right) + b(left)) % kPrime) << 32;
}

/// One execution under one random schedule.
class Execution {
 public:
  Execution(const Case& plans, const Program& program, std::mt19937& random)
      : plans_(plans),
        layout_(program.layout),
        tasks_(program.tasks),
        random_(random),
        started_(tasks_.size()),
        complete_(tasks_.size()),
        payload_(tasks_.size()),
        entered_(plans.plans.size()),
        left_(plans.plans.size()),
        unfinished_(plans.plans.size()),
        visitors_(plans.plans.size()),
        users_(layout_.size()) {
    // The ids of steps: start and completion of each task, then the ranks' entries.
    for (std::size_t step = 0; step < 2 * tasks_.size() + entered_.size(); ++step) {
      waiting_.push_back(step);
      priority_.push_back(random());
    }
    // Some schedules let whole ranks lag.
    if (random() % 2 == 0) {
      const auto salt = static_cast<std::uint32_t>(random());
      for (std::size_t task = 0; task < tasks_.size(); ++task) {
        const auto rank = static_cast<std::uint32_t>(tasks_[task].rank);
        const std::uint32_t lag = (rank + salt) * 0x9e3779b9u;
        priority_[2 * task] = priority_[2 * task] / 4 + lag / 2;
      }
    }
    noise_ = random() % 3 == 0 ? 100 : 10;
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      memory_.push_back((Word{random()} << 32) | random());
    }
    before_ = memory_;
    for (const Task& task : tasks_) ++unfinished_[static_cast<std::size_t>(task.rank)];
  }

  void run() {
    while (!waiting_.empty()) {
      std::vector<std::size_t> ready;
      for (const std::size_t step : waiting_) {
        if (can(step)) ready.push_back(step);
      }
      if (ready.empty()) throw Failure{"stands still"};
      std::size_t chosen = ready[random_() % ready.size()];
      if (random_() % 100 >= noise_) {
        chosen = *std::ranges::max_element(ready, {}, [&](std::size_t s) { return priority_[s]; });
      }
      take(chosen);
      std::erase(waiting_, chosen);
    }
    compare();
  }

 private:
  struct Users {
    int readers = 0;
    int writers = 0;
  };

  bool can(std::size_t step) const {
    if (step >= 2 * tasks_.size()) return true;
    const std::size_t id = step / 2;
    const Task& task = tasks_[id];
    if (step % 2 == 0) {
      return entered_[static_cast<std::size_t>(task.rank)] &&
             (task.previous == kNone || started_[task.previous]) &&
             std::ranges::all_of(task.after, [&](std::size_t before) { return complete_[before]; });
    }
    if (!started_[id]) return false;
    if (task.op.kind == OpKind::recv || task.op.kind == OpKind::wait) return started_[task.partner];
    return task.credit == kNone || started_[task.credit];
  }

  void take(std::size_t step) {
    if (step >= 2 * tasks_.size()) {
      entered_[step - 2 * tasks_.size()] = true;
    } else if (step % 2 == 0) {
      start(step / 2);
    } else {
      complete(step / 2);
    }
    leave();
  }

  void start(std::size_t id) {
    const Task& task = tasks_[id];
    started_[id] = true;
    for (const Address& address : task.writes) {
      Users& users = users_[address.index];
      if (users.readers + users.writers > 0) throw Failure{"writes what is in use"};
      ++users.writers;
    }
    for (const Address& address : task.reads) {
      Users& users = users_[address.index];
      const bool own =
          task.op.kind == OpKind::reduce && users.writers == 1 &&
          std::ranges::find(task.writes, address.index, &Address::index) != task.writes.end();
      if (users.writers > 0 && !own) throw Failure{"reads what is being written"};
      ++users.readers;
    }
    visit(task, 1);
    if (random_() % 2 == 0) act(id);
  }

  void complete(std::size_t id) {
    const Task& task = tasks_[id];
    act(id);
    if (task.op.kind == OpKind::recv) {
      act(task.partner);
      store(task.writes, payload_[task.partner]);
    }
    for (const Address& address : task.writes) --users_[address.index].writers;
    for (const Address& address : task.reads) --users_[address.index].readers;
    visit(task, -1);
    complete_[id] = true;
    --unfinished_[static_cast<std::size_t>(task.rank)];
  }

  /// The effect of an op, once: at its start, at its completion, or when its receiver asks.
  void act(std::size_t id) {
    const Task& task = tasks_[id];
    if (!payload_[id].empty() || task.op.src.empty()) return;
    payload_[id] = load(layout_.addresses(task.op.src));
    if (task.op.kind == OpKind::copy) store(task.writes, payload_[id]);
    if (task.op.kind == OpKind::reduce) {
      auto sum = load(task.writes);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const bool left = task.op.dst_operand == Operand::left;
        sum[i] = left ? combined(plans_.problem, sum[i], payload_[id][i])
                      : combined(plans_.problem, payload_[id][i], sum[i]);
      }
      store(task.writes, sum);
    }
  }

  std::vector<Word> load(const std::vector<Address>& from) {
    std::vector<Word> words;
    for (const Address& address : from) words.push_back(memory_[address.index]);
    return words;
  }

  void store(const std::vector<Address>& to, const std::vector<Word>& words) {
    for (std::size_t i = 0; i < to.size(); ++i) memory_[to[i].index] = words[i];
  }

  void visit(const Task& task, int change) {
    for (const auto* list : {&task.reads, &task.writes}) {
      for (const Address& address : *list) {
        if (address.owner == task.rank || address.space == Space::stage) continue;
        const auto owner = static_cast<std::size_t>(address.owner);
        if (!entered_[owner] || left_[owner])
          throw Failure{"visits a rank that is not in the call"};
        visitors_[owner] += change;
      }
    }
  }

  void leave() {
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      if (left_[rank] || !entered_[rank] || unfinished_[rank] > 0) continue;
      left_[rank] = true;
      if (visitors_[rank] > 0) throw Failure{"leaves with a visitor"};
    }
  }

  void compare() const {
    const auto& problem = plans_.problem;
    std::vector<bool> arrived(memory_.size());
    for (int rank = 0; rank < problem.ranks; ++rank) {
      for (const Expectation& expected : contract(problem, rank)) {
        const auto target = layout_.addresses(
            Slice::contiguous(Space::output, rank, expected.offset, expected.bytes));
        const auto words = expected_words(expected);
        for (std::size_t i = 0; i < target.size(); ++i) {
          arrived[target[i].index] = true;
          if (memory_[target[i].index] != words[i]) throw Failure{"wrong bytes"};
        }
      }
      const auto whole = Slice::contiguous(
          Space::output, rank, 0, plans_.plans[static_cast<std::size_t>(rank)].output_bytes());
      for (const Address& address : layout_.addresses(whole)) {
        if (!arrived[address.index] && memory_[address.index] != before_[address.index]) {
          throw Failure{"writes what it must leave alone"};
        }
      }
    }
  }

  std::vector<Word> expected_words(const Expectation& expected) const {
    std::vector<Word> words;
    for (const int origin : expected.origins) {
      const auto source = layout_.addresses(
          Slice::contiguous(plans_.problem.in_place ? Space::output : Space::input, origin,
                            expected.origin_offset, expected.bytes));
      const bool first = words.empty();
      for (std::size_t i = 0; i < source.size(); ++i) {
        const Word word = before_[source[i].index];
        if (first) {
          words.push_back(word);
        } else {
          words[i] = combined(plans_.problem, words[i], word);
        }
      }
    }
    return words;
  }

  const Case& plans_;
  const Layout& layout_;
  const std::vector<Task>& tasks_;
  std::mt19937& random_;
  std::vector<bool> started_;
  std::vector<bool> complete_;
  std::vector<std::vector<Word>> payload_;  // by task: what it has read; empty before
  std::vector<bool> entered_;               // by rank
  std::vector<bool> left_;
  std::vector<int> unfinished_;
  std::vector<int> visitors_;
  std::vector<std::size_t> waiting_;     // steps to be taken
  std::vector<std::uint64_t> priority_;  // by step
  std::uint32_t noise_ = 0;              // percent of steps that ignore priorities
  std::vector<Word> memory_;
  std::vector<Word> before_;
  std::vector<Users> users_;
};

}  // namespace

std::optional<std::string> find_failure(const Case& plans, std::mt19937& random, int schedules) {
  try {
    Program program(plans);
    constexpr std::array<std::size_t, 3> kCapacities = {0, 1, 1000};
    for (int i = 0; i < schedules; ++i) {
      program.set_capacity(kCapacities[static_cast<std::size_t>(i) % kCapacities.size()]);
      Execution(plans, program, random).run();
    }
  } catch (const Failure& failure) {
    return failure.what;
  }
  return std::nullopt;
}

}  // namespace weft::plan::testing
