// Collectives that combine data.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include "forms.hpp"
#include "memory.hpp"
#include "user_operations.hpp"

namespace weft::test {

namespace {

void* const kNowhere = reinterpret_cast<void*>(8);  // NOLINT

bool is_scattered(Kind kind) {
  return kind >= Kind::reduce_scatter;
}

class Reduction final : public Call {
 public:
  Reduction(Kind kind, const Communicator& with, Random& shared, const Limits& limits)
      : kind_(kind), with_(with), id_(shared.next()) {
    root_ = static_cast<int>(shared.next() % 64) % with.size;
    in_place_ = !with.is_inter && shared.one_in(3);
    draw_operation(shared, limits);
    draw_counts(shared, limits);
    receives_ = kind != Kind::reduce || with.rank == root_;
    Random own({id_, static_cast<std::uint64_t>(with.rank), static_cast<std::uint64_t>(with.side)});
    const bool here = in_place_ && receives_;
    send_ = std::make_unique<Memory>(block(here ? 0 : total_), own);
    receive_ = std::make_unique<Memory>(block(here ? total_ : receives_ ? results_ : 0), own);
  }

  void prepare(std::uint64_t turn) override {
    turn_ = turn;
    for (Memory* memory : {send_.get(), receive_.get()}) {
      memory->begin_turn();
      const bool is_sent = memory == send_.get() || (in_place_ && receives_);
      if (!is_sent) continue;
      const Block& all = memory->blocks()[0];
      for (int i = 0; i < all.count; ++i) {
        put(with_.side, with_.rank, i, memory->holds(all, i));
        put(with_.side, with_.rank, i, memory->must(all, i));
      }
    }
  }

  int call(Form form, MPI_Request* request) override {
    const void* from = in_place_ && receives_ ? MPI_IN_PLACE : send_->address();
    void* to = receives_ ? receive_->address() : kNowhere;
    const MPI_Datatype type = layout_.type;
    const MPI_Op op = user_ ? *user_->handle() : handle_of(operation_);
    MPI_Comm comm = with_.handle;
    switch (kind_) {
      case Kind::reduce:
        return FORM(Reduce, reduce, form, request, from, to, count_, type, op, root_, comm);
      case Kind::allreduce:
        return FORM(Allreduce, allreduce, form, request, from, to, count_, type, op, comm);
      case Kind::scan:
        return FORM(Scan, scan, form, request, from, to, count_, type, op, comm);
      case Kind::exscan:
        return FORM(Exscan, exscan, form, request, from, to, count_, type, op, comm);
      case Kind::reduce_scatter:
        return FORM(Reduce_scatter, reduce_scatter, form, request, from, to, counts_.data(), type,
                    op, comm);
      default:
        return FORM(Reduce_scatter_block, reduce_scatter_block, form, request, from, to, count_,
                    type, op, comm);
    }
  }

  void free_handles() override {
    layout_.free();
    if (user_ && *user_->handle() != MPI_OP_NULL) MPI_Op_free(user_->handle());
  }

  bool is_hosts() const override {
    return std::ranges::all_of(counts_, [](int count) { return count == 0; });
  }

  std::string fault() override {
    expect_results();
    std::ptrdiff_t at = 0;
    if (const int wrong = receive_->wrong(&at)) {
      return fmt::format("{} bytes of the result are wrong, the first at {}", wrong, at);
    }
    if (const int wrong = send_->wrong(&at)) {
      return fmt::format("{} bytes of what is sent have changed, the first at {}", wrong, at);
    }
    return "";
  }

  std::string text() const override {
    return fmt::format("{}{} of {} elements by {}, {}, root {}{}", name_of(kind_),
                       with_.is_inter ? " between two groups" : "", count_,
                       !user_                          ? name_of(operation_)
                       : user_kind_ == UserKind::chain ? "a function"
                                                       : "a commutative function",
                       element_ != nullptr ? element_->name : "pairs of ints", root_,
                       in_place_ ? ", in place" : "");
  }

 private:
  void draw_operation(Random& shared, const Limits& limits) {
    if (shared.one_in(3)) {
      static const Element* integer = &*std::find_if(
          elements().begin(), elements().end(), [](const Element& e) { return e.type == MPI_INT; });
      const Signature ints(static_cast<std::size_t>(2 + 2 * shared.below(3)), integer);
      user_kind_ = shared.one_in(3) ? UserKind::total : UserKind::chain;
      // Open MPI takes too little memory for data that lie before the address between two groups,
      // and wherever its own call does not block.
      const bool simple = shared.one_in(3) || with_.is_inter || !limits.frees_early;
      layout_ = draw_layout(ints, simple ? 0 : limits.depth, shared);
      const std::vector<Block> many = {{&layout_, 400, 0, 0}};
      if (!are_apart(many)) {
        layout_.free();
        layout_ = draw_layout(ints, 0, shared);
      }
      user_.emplace(user_kind_, layout_);
      return;
    }
    do {
      element_ = &elements()[shared.next() % elements().size()];
      operation_ = static_cast<Operation>(shared.below(kOperations));
    } while (!element_->fits(operation_));
    layout_ = draw_layout({element_}, 0, shared);
  }

  void draw_counts(Random& shared, const Limits& limits) {
    const int most = std::max(1, limits.elements / 4 / (user_ ? 6 : 1));
    constexpr std::array kCounts = {0, 1, 1, 2, 3, 10, 40, 150, 150};
    const std::size_t which = shared.next() % (kCounts.size() + 1);
    count_ = which < kCounts.size() ? std::min(kCounts[which], most)
                                    : 1 + shared.below(shared.one_in(6) ? most : most / 16 + 1);
    if (is_scattered(kind_)) count_ = (count_ + 1) / 2;
    counts_.assign(static_cast<std::size_t>(with_.size), count_);
    if (kind_ == Kind::reduce_scatter) {
      for (int& count : counts_) count = shared.one_in(4) ? 0 : shared.below(count_ + 1);
    }
    results_ = counts_[static_cast<std::size_t>(with_.rank)];
    total_ = count_;
    if (is_scattered(kind_)) {
      total_ = 0;
      for (int i = 0; i < with_.size; ++i) {
        if (i == with_.rank) first_ = total_;
        total_ += counts_[static_cast<std::size_t>(i)];
      }
    }
  }

  std::vector<Block> block(int count) const { return {{&layout_, count, 0, 0}}; }

  void put(int side, int rank, int index, std::byte* to) const {
    Random random({id_, turn_, static_cast<std::uint64_t>(side), static_cast<std::uint64_t>(rank),
                   static_cast<std::uint64_t>(index)});
    if (!user_) return element_->put(operation_, random, to);
    for (const Piece& piece : layout_.pieces) {
      const int value = draw_value(random);
      std::memcpy(to + piece.at, &value, sizeof value);
    }
  }

  /// The ranks whose data this rank's result is made of, from 0 to before this.
  int summands() const {
    if (kind_ == Kind::scan) return with_.rank + 1;
    if (kind_ == Kind::exscan) return with_.rank;
    return with_.peers;
  }

  void expect_results() {
    const Block& all = receive_->blocks()[0];
    if (!receives_) return;
    if (summands() == 0) return receive_->expect_anything(all);  // of rank 0 of an exscan
    std::vector<std::byte> other(static_cast<std::size_t>(layout_.high - layout_.low));
    std::byte* const operand = other.data() - layout_.low;
    const int side = with_.is_inter ? 1 - with_.side : 0;
    Block behind = all;
    behind.at = results_ * layout_.extent;
    behind.count = all.count - results_;
    if (behind.count > 0) receive_->expect_anything(behind);  // in place, of a reduce-scatter
    for (int i = 0; i < results_; ++i) {
      std::byte* const result = receive_->must(all, i);
      put(side, summands() - 1, first_ + i, result);
      for (int rank = summands() - 2; rank >= 0; --rank) {
        put(side, rank, first_ + i, operand);
        if (user_) {
          combine(user_kind_, layout_, operand, result);
        } else {
          element_->combine(operation_, operand, result);
        }
      }
      if (user_) continue;
      element_->settle(result);
      element_->settle(receive_->holds(all, i));
    }
  }

  Kind kind_;
  Communicator with_;
  std::uint64_t id_, turn_ = 0;
  int root_ = 0, count_ = 0, results_ = 0, total_ = 0;
  int first_ = 0;  // element of all that this rank's result begins with
  std::vector<int> counts_;
  bool in_place_ = false, receives_ = true;
  const Element* element_ = nullptr;
  Operation operation_ = Operation::sum;
  UserKind user_kind_ = UserKind::chain;
  Layout layout_;
  std::optional<UserOperation> user_;
  std::unique_ptr<Memory> send_, receive_;
};

}  // namespace

std::unique_ptr<Call> draw_reduction(Kind kind, const Communicator& communicator, Random& shared,
                                     const Limits& limits) {
  return std::make_unique<Reduction>(kind, communicator, shared, limits);
}

}  // namespace weft::test
