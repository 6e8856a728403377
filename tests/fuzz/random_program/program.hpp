// A drawn MPI program: a list of steps that all ranks go through, of which each rank chooses by
// itself when it arrives and which of its requests it completes when and how.
//
// It cannot hang in an MPI that keeps its promises: a rank waits only for what all ranks start
// before they reach the step at which it waits, and collectives of a communicator are started in
// one order. Between two waits, each rank starts calls of different communicators in an order of
// its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "call.hpp"

namespace weft::test {

struct Choice {
  Limits limits;
  std::optional<std::set<int>> steps;  // these alone
  bool shows = false;                  // prints each step
};

class Program {
 public:
  Program(std::uint64_t number, const Choice& choice, const Communicator& world);
  /// How many faults this rank has found; each is printed.
  int run();

 private:
  enum class What { make, free, collective, message, again, complete, delay };
  struct Step {
    int number = 0;
    What what = What::collective;
    int slot = 0, parent = 0;
    Form form = Form::blocking;
    std::uint64_t seed = 0;
  };
  struct Pending {
    std::shared_ptr<Call> call;
    MPI_Request request = MPI_REQUEST_NULL;
    Form form = Form::nonblocking;
    Step step;
    std::uint64_t turn = 0;
    bool is_active = true;
  };
  static constexpr int kSlots = 6;
  static constexpr int kMostSteps = 40;

  Step draw_step(int number, Random& random) const;
  bool is_started(const Step& step) const;  // one that only starts something
  void take(const Step& step);
  /// Those of a run of steps that only start something, in this rank's order.
  void take_in_any_order(std::vector<Step> run);
  void make(const Step& step);
  void free_slot(int slot);
  bool is_over_before_free(const Pending& pending, int slot) const;
  void collective(const Step& as_drawn);
  void message(const Step& step);
  void start_again(const Step& step);
  void complete(std::vector<std::size_t> which);
  void complete_some();
  void poll();
  void finished(Pending& pending);
  void drop_finished();
  void check(Call& call, const Step& step, std::uint64_t turn);
  void arrive(const Step& step);
  void show(const Step& step, const std::string& text) const;
  std::vector<std::size_t> active(bool all);

  std::uint64_t number_;
  const Choice& choice_;
  std::array<Communicator, kSlots> slots_;
  std::array<std::string, kSlots> ways_;
  std::vector<Pending> pending_;
  Random own_;
  int world_rank_, faults_ = 0;
};

}  // namespace weft::test
