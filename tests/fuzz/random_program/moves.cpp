// Collectives that move data.
#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>
#include "forms.hpp"
#include "side.hpp"

namespace weft::test {

namespace {

/// Arguments that only the root reads may have any value on other ranks.
void* const kNowhere = reinterpret_cast<void*>(8);  // NOLINT

Spread spread_of(Kind kind) {
  if (kind == Kind::alltoallw) return Spread::typed;
  const bool irregular = kind == Kind::scatterv || kind == Kind::gatherv ||
                         kind == Kind::allgatherv || kind == Kind::alltoallv;
  return irregular ? Spread::irregular : Spread::regular;
}

bool is_exchange(Kind kind) {
  return kind >= Kind::alltoall && kind <= Kind::alltoallw;
}
bool is_scatter(Kind kind) {
  return kind == Kind::scatter || kind == Kind::scatterv;
}
bool is_gather(Kind kind) {
  return kind == Kind::gather || kind == Kind::gatherv;
}
bool has_root(Kind kind) {
  return kind >= Kind::bcast && kind <= Kind::gatherv;
}

class Move final : public Call {
 public:
  Move(Kind kind, const Communicator& with, Random& shared, const Limits& limits)
      : kind_(kind), with_(with), spread_(spread_of(kind)), id_(shared.next()) {
    signature_ = draw_signature(shared, std::min(12, limits.elements), shared.one_in(2));
    common_ = 1 + shared.below(3);
    root_side_ = with.is_inter ? shared.below(2) : 0;
    root_ =
        static_cast<int>(shared.next() % 64) % (root_side_ == with.side ? with.size : with.peers);
    in_place_ = !with.is_inter && kind != Kind::bcast && kind != Kind::neighbor_allgather &&
                shared.one_in(4);
    // Open MPI 4.1's own go wrong when they do not block.
    const bool is_irregular = kind == Kind::alltoallv || kind == Kind::alltoallw;
    if (is_irregular && (limits.alike || with.is_hosts)) in_place_ = false;
    draw_most(shared, limits);
    is_root_ = with.side == root_side_ && with.rank == root_;
    is_idle_ = with.is_inter && has_root(kind) && with.side == root_side_ && !is_root_;
    alike_ = limits.alike || with.is_hosts || kind == Kind::neighbor_allgather;
    Random own({id_, static_cast<std::uint64_t>(with.rank), static_cast<std::uint64_t>(with.side)});
    // A rank's only block needs no displacement.
    const bool one_sent = is_gather(kind) || kind == Kind::allgatherv;
    send_ = side(sent(), one_sent ? Spread::regular : spread_, limits, own);
    // MPICH 4.0 takes no notice of the displacement in an allgatherv of one rank.
    const bool one_received = is_scatter(kind) || (kind == Kind::allgatherv && with.size == 1);
    receive_ = side(received(), one_received ? Spread::regular : spread_, limits, own);
  }

  void prepare(std::uint64_t turn) override {
    send_->begin_turn();
    receive_->begin_turn();
    for (std::size_t i = 0; i < send_->blocks(); ++i) send_->give(i, turn);
    for (std::size_t i = 0; i < receive_->blocks(); ++i) {
      if (kind_ == Kind::neighbor_allgather && with_.neighbours[i] == MPI_PROC_NULL) continue;
      const bool own =
          in_place_ && !is_exchange(kind_) && i == static_cast<std::size_t>(with_.rank);
      if (own && !is_scatter(kind_)) {
        receive_->give(i, turn);
      } else {
        receive_->expect(i, turn);
      }
    }
    if (in_place_ && is_exchange(kind_)) give_in_place(turn);
  }

  int call(Form form, MPI_Request* request) override;
  void free_handles() override {
    send_->free_types();
    receive_->free_types();
  }
  bool is_hosts() const override { return most_ == 0 && spread_ == Spread::regular; }
  /// Open MPI 4.1 does not number an irregular exchange in place, when it is made, on a rank that
  /// exchanges nothing; the others then wait for that rank in the next collective it numbers.
  bool can_persist() const override {
    return !in_place_ || (kind_ != Kind::alltoallv && kind_ != Kind::alltoallw);
  }
  std::string fault() override;
  std::string text() const override {
    return fmt::format("{}{} of {} x {} x {} numbers at most{}, root {}", name_of(kind_),
                       with_.is_inter ? " between two groups" : "", most_, common_,
                       signature_.size(), in_place_ ? ", in place" : "", root_);
  }

 private:
  void draw_most(Random& shared, const Limits& limits) {
    const int numbers = static_cast<int>(signature_.size()) * common_;
    const int most = std::max(1, limits.elements / numbers);
    constexpr std::array kMost = {0, 1, 1, 2, 3, 10, 40, 40, 150};
    const std::size_t which = shared.next() % (kMost.size() + 1);
    most_ = which < kMost.size() ? std::min(kMost[which], most)
                                 : 1 + shared.below(shared.one_in(6) ? most : most / 16 + 1);
  }

  std::uint64_t name(int from_side, int from, int to) const {
    return Random({id_, static_cast<std::uint64_t>(from_side), static_cast<std::uint64_t>(from),
                   static_cast<std::uint64_t>(to)})
        .next();
  }

  /// What goes from one rank to another; `to` -1: to all of them.
  Content content(int from_side, int from, int to) const {
    Content result{most_ * common_, name(from_side, from, to), 0};
    // In place, as much goes the other way. Of a scatter it depends on who receives.
    int least = from;
    int other = to;
    if (in_place_ && is_exchange(kind_)) std::tie(least, other) = std::minmax(from, to);
    if (is_scatter(kind_)) least = 0;
    result.layout = alike_ ? name(from_side, least, other) : name(2 + with_.rank, from, to);
    if (spread_ != Spread::regular) {
      Random random({id_ + 1, static_cast<std::uint64_t>(from_side),
                     static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(other)});
      result.units = random.one_in(4) ? 0 : random.below(most_ + 1) * common_;
    }
    return result;
  }

  std::vector<Content> sent() const;
  std::vector<Content> received() const;

  std::unique_ptr<Side> side(const std::vector<Content>& contents, Spread spread,
                             const Limits& limits, Random& own) const {
    // A rank alone copies derived datatypes wrongly in Open MPI 4.1.
    const std::uint64_t layout = alike_ ? id_ + 2 : own.next();
    const Side::Shape shape = {signature_, common_, spread, layout,
                               with_.is_hosts ? 0 : limits.depth};
    return std::make_unique<Side>(shape, contents, own);
  }

  /// An exchange in place: block `to` of what is received holds what goes there.
  void give_in_place(std::uint64_t turn) {
    for (int to = 0; to < with_.peers; ++to) {
      receive_->give_other(static_cast<std::size_t>(to), name(with_.side, with_.rank, to), turn);
    }
  }

  Kind kind_;
  Communicator with_;
  Spread spread_;
  std::uint64_t id_;
  Signature signature_;
  int common_ = 1, most_ = 0, root_ = 0, root_side_ = 0;
  bool alike_ = false;  // ranks describe the same data by the same datatype
  bool in_place_ = false, is_root_ = false, is_idle_ = false;
  std::unique_ptr<Side> send_, receive_;
};

std::vector<Content> Move::sent() const {
  std::vector<Content> all;
  const int side = with_.side;
  if (is_idle_) return all;
  if (kind_ == Kind::bcast) {
    if (is_root_) all.push_back(content(side, root_, -1));
  } else if (is_scatter(kind_)) {
    for (int to = 0; is_root_ && to < with_.peers; ++to) all.push_back(content(side, root_, to));
  } else if (is_gather(kind_)) {
    if (!(in_place_ && is_root_)) all.push_back(content(side, with_.rank, -1));
  } else if (is_exchange(kind_)) {
    for (int to = 0; !in_place_ && to < with_.peers; ++to) {
      all.push_back(content(side, with_.rank, to));
    }
  } else if (!in_place_) {
    all.push_back(content(side, with_.rank, -1));
  }
  return all;
}

std::vector<Content> Move::received() const {
  std::vector<Content> all;
  const int from_side = with_.is_inter ? 1 - with_.side : 0;
  if (is_idle_) return all;
  if (kind_ == Kind::bcast) {
    if (!is_root_) all.push_back(content(root_side_, root_, -1));
  } else if (is_scatter(kind_)) {
    if (!(in_place_ && is_root_)) all.push_back(content(root_side_, root_, with_.rank));
  } else if (kind_ == Kind::neighbor_allgather) {
    for (const int from : with_.neighbours) all.push_back(content(0, std::max(from, 0), -1));
  } else if (!is_gather(kind_) || is_root_) {
    const int to = is_exchange(kind_) ? with_.rank : -1;
    for (int from = 0; from < with_.peers; ++from) all.push_back(content(from_side, from, to));
  }
  return all;
}

int Move::call(Form form, MPI_Request* request) {
  Side& s = *send_;
  Side& r = *receive_;
  MPI_Comm comm = with_.handle;
  const bool of_root_group = with_.is_inter && with_.side == root_side_;
  const int root = !of_root_group ? root_ : is_root_ ? MPI_ROOT : MPI_PROC_NULL;
  const bool sends_here = in_place_ && (!is_gather(kind_) || is_root_) && !is_scatter(kind_);
  const bool receives_here = in_place_ && is_scatter(kind_) && is_root_;
  const void* from = sends_here ? MPI_IN_PLACE : s.address();
  void* to = receives_here ? MPI_IN_PLACE : r.address();
  const MPI_Datatype send_type = sends_here ? MPI_DATATYPE_NULL : s.type();
  const MPI_Datatype receive_type = receives_here ? MPI_DATATYPE_NULL : r.type();
  const int send_count = sends_here ? -1 : s.count();
  const int receive_count = receives_here ? -1 : r.count();
  if (is_scatter(kind_) && !is_root_) from = kNowhere;
  if (is_gather(kind_) && !is_root_) to = kNowhere;
  switch (kind_) {
    case Kind::bcast: {
      Side& used = is_root_ ? s : r;
      return FORM(Bcast, bcast, form, request, used.address(), used.count(), used.type(), root,
                  comm);
    }
    case Kind::scatter:
      return FORM(Scatter, scatter, form, request, from, send_count, send_type, to, receive_count,
                  receive_type, root, comm);
    case Kind::scatterv:
      return FORM(Scatterv, scatterv, form, request, from, s.counts(), s.displacements(), send_type,
                  to, receive_count, receive_type, root, comm);
    case Kind::gather:
      return FORM(Gather, gather, form, request, from, send_count, send_type, to, receive_count,
                  receive_type, root, comm);
    case Kind::gatherv:
      return FORM(Gatherv, gatherv, form, request, from, send_count, send_type, to, r.counts(),
                  r.displacements(), receive_type, root, comm);
    case Kind::allgather:
      return FORM(Allgather, allgather, form, request, from, send_count, send_type, to,
                  receive_count, receive_type, comm);
    case Kind::allgatherv:
      return FORM(Allgatherv, allgatherv, form, request, from, send_count, send_type, to,
                  r.counts(), r.displacements(), receive_type, comm);
    case Kind::alltoall:
      return FORM(Alltoall, alltoall, form, request, from, send_count, send_type, to, receive_count,
                  receive_type, comm);
    case Kind::alltoallv:
      return FORM(Alltoallv, alltoallv, form, request, from, s.counts(), s.displacements(),
                  send_type, to, r.counts(), r.displacements(), receive_type, comm);
    case Kind::alltoallw:
      return FORM(Alltoallw, alltoallw, form, request, from, s.counts(), s.displacements(),
                  s.types(), to, r.counts(), r.displacements(), r.types(), comm);
    default:
      return FORM(Neighbor_allgather, neighbor_allgather, form, request, from, send_count,
                  send_type, to, receive_count, receive_type, comm);
  }
}

std::string Move::fault() {
  std::ptrdiff_t at = 0;
  if (const int wrong = receive_->memory().wrong(&at)) {
    return fmt::format("{} bytes of what is received are wrong, the first at {}", wrong, at);
  }
  if (const int wrong = send_->memory().wrong(&at)) {
    return fmt::format("{} bytes of what is sent have changed, the first at {}", wrong, at);
  }
  return "";
}

}  // namespace

std::unique_ptr<Call> draw_move(Kind kind, const Communicator& communicator, Random& shared,
                                const Limits& limits) {
  return std::make_unique<Move>(kind, communicator, shared, limits);
}

}  // namespace weft::test
