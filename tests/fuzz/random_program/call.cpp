#include "call.hpp"

#include <array>

#include <fmt/format.h>
#include "arrivals.hpp"
#include "forms.hpp"

namespace weft::test {

namespace {

/// No rank leaves before all have entered.
class Barrier final : public Call {
 public:
  Barrier(const Communicator& with, Place place) : with_(with), place_(place) {}

  void prepare(std::uint64_t turn) override { turn_ = turn; }
  int call(Form form, MPI_Request* request) override {
    if (form != Form::persistent) enter();
    return FORM(Barrier, barrier, form, request, with_.handle);
  }
  void free_handles() override {}
  std::string fault() override {
    for (const int rank : with_.ranks) {
      if (turn_ == 0 && is_counted_ &&
          !Arrivals::all().has_entered(rank, place_.program, place_.step)) {
        return fmt::format("rank {} of MPI_COMM_WORLD has not entered", rank);
      }
    }
    return "";
  }
  std::string text() const override { return "barrier"; }

 private:
  void enter() {
    is_counted_ = !with_.is_inter;
    const int own = with_.ranks[static_cast<std::size_t>(with_.rank)];
    Arrivals::all().enter(own, place_.program, place_.step);
  }

  Communicator with_;
  Place place_;
  std::uint64_t turn_ = 0;
  bool is_counted_ = false;
};

Kind draw_kind(const Communicator& communicator, const Limits& limits, Random& random) {
  if (communicator.is_inter) {
    constexpr std::array kBetween = {Kind::barrier,  Kind::bcast,     Kind::allgather,
                                     Kind::alltoall, Kind::alltoallv, Kind::allreduce};
    return kBetween[random.next() % kBetween.size()];
  }
  const Kind kind = static_cast<Kind>(random.below(kKinds));
  if (kind == Kind::neighbor_allgather && !communicator.has_neighbours) return Kind::alltoallv;
  // Open MPI's own MPI_Iexscan ends in a fault.
  return kind == Kind::exscan && limits.alike && !limits.blocking_only ? Kind::scan : kind;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array<const char*, kKinds> kNames = {
      "barrier",   "bcast",      "scatter",  "scatterv",  "gather",         "gatherv",
      "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",      "neighbor_allgather",
      "reduce",    "allreduce",  "scan",     "exscan",    "reduce_scatter", "reduce_scatter_block"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Call> draw_call(const Communicator& communicator, std::uint64_t seed, Place place,
                                const Limits& limits) {
  Random shared({seed, communicator.instance});
  const Kind kind = draw_kind(communicator, limits, shared);
  if (kind == Kind::barrier) return std::make_unique<Barrier>(communicator, place);
  if (kind >= Kind::reduce) return draw_reduction(kind, communicator, shared, limits);
  return draw_move(kind, communicator, shared, limits);
}

}  // namespace weft::test
