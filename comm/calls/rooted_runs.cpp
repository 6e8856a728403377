// Runs of scatter and gather of blocks of different sizes: long blocks go in pieces, which a rank
// may pack and unpack. How many pieces a block has follows from its bytes, which both of its ends
// know; ranks that have few are done with the call while the root goes on with others.
#include <algorithm>
#include <memory>

#include "comm/calls/impl.hpp"

namespace weft {

namespace {

using comm::RootedExchange;
using plan::Block;
using plan::Collective;

/// The bytes of a block from `from` on that go at once.
std::uint64_t piece_at(const Block& block, std::uint64_t from) {
  return from >= block.bytes ? 0 : std::min(block.bytes - from, RootedExchange::kPieceBytes);
}

std::uint64_t longest(std::span<const Block> blocks) {
  return std::ranges::max_element(blocks, {}, &Block::bytes)->bytes;
}

}  // namespace

/// One call: its runs, of which each rank has at least one, and what is counted of them.
class Communicator::Impl::RootedRuns {
 public:
  RootedRuns(Impl& impl, const comm::Task& task) : impl_(impl), task_(task), piece_(task) {
    impl.resources_.executor().arrive(impl.usage_.begin());
  }

  const Block& block(std::size_t rank) const { return task_.problem.layout[rank]; }
  std::size_t ranks() const { return task_.problem.layout.size(); }
  /// The next run has nothing of any rank, until place() says so.
  void clear() { std::ranges::fill(piece_.problem.layout, Block()); }
  /// The piece of a rank's block that is in the next run, and where the root has it.
  void place(std::size_t rank, std::uint64_t offset, std::uint64_t bytes) {
    piece_.problem.layout[rank] = {offset, bytes};
  }

  void run(const std::byte* input, std::byte* output) {
    const comm::Call& call = *impl_.calls_.call_for(piece_);
    engine::Executor& executor = impl_.resources_.executor();
    const engine::Buffers buffers{input, output, nullptr};
    if (!has_begun_) {
      executor.begin_call(call.key);
      impl_.run_prepared(*call.slice, buffers);
    } else if (!executor.run_part(*call.slice, buffers)) {
      impl_.resources_.require_no_failure();
    }
    has_begun_ = true;
    counts_.messages += call.slice->messages;
    counts_.wire_bytes += call.slice->wire_bytes;
  }

  void end() {
    const int rank = impl_.rank();
    const plan::Problem& problem = task_.problem;
    comm::Counts& counts = impl_.usage_.at(impl_.usage_.entry_for(
        problem.collective, RootedExchange::kAlgorithm, problem.block(rank).bytes));
    counts.messages += counts_.messages;
    counts.wire_bytes += counts_.wire_bytes;
    counts.bytes += problem.input_bytes(rank);
    ++counts.calls;
    impl_.calls_.forget_last();  // a piece
    impl_.end_long(counts);
  }

 private:
  Impl& impl_;
  const comm::Task& task_;
  comm::Task piece_;
  bool has_begun_ = false;
  comm::Counts counts_;
};

void Communicator::Impl::run_rooted(const comm::Task& task) {
  RootedRuns runs(*this, task);
  const bool gathers = task.problem.collective == Collective::gather;
  const std::uint64_t most = longest(task.problem.layout);
  for (std::uint64_t from = 0; from < most; from += RootedExchange::kPieceBytes) {
    runs.clear();
    for (std::size_t rank = 0; rank < runs.ranks(); ++rank) {
      const Block& block = runs.block(rank);
      if (from < block.bytes) runs.place(rank, block.offset + from, piece_at(block, from));
    }
    // A rank's own block has no offset on its own side.
    const bool has_own = from < runs.block(static_cast<std::size_t>(this->rank())).bytes;
    const std::uint64_t own = has_own ? from : 0;
    runs.run(gathers ? task.input + own : task.input, gathers ? task.output : task.output + own);
  }
  runs.end();
}

/// Pieces of several ranks' blocks, as many as fit into memory for one, packed one after another.
class Communicator::Impl::PackedPieces {
 public:
  PackedPieces(Impl& impl, const comm::Task& task, const Packer& packer)
      : impl_(impl),
        packer_(packer),
        runs_(impl, task),
        root_(task.problem.root),
        packs_((task.problem.collective == Collective::gather) != is_root()) {
    impl.resources_.guarded([&] {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(RootedExchange::kPieceBytes);
    });
    runs_.clear();
  }

  /// Of a rank's block, or of this rank's own, from `from` on.
  void add(std::size_t rank, std::uint64_t from) {
    const std::uint64_t bytes = piece_at(runs_.block(rank), from);
    if (bytes == 0 || (is_root() && static_cast<int>(rank) == root_)) return;
    if (filled_ + bytes > RootedExchange::kPieceBytes) run();
    runs_.place(rank, filled_, bytes);
    pieces_.push_back({is_root() ? static_cast<int>(rank) : root_, from, from + bytes, filled_});
    filled_ += bytes;
  }

  /// What has been added.
  void run() {
    std::byte* const packed = memory_.get();
    if (packs_) {
      impl_.resources_.guarded([&] {
        for (const Piece& one : pieces_) {
          packer_.pack(one.other, one.from, one.to, packed + one.offset);
        }
      });
    }
    runs_.run(packs_ ? packed : nullptr, packs_ ? nullptr : packed);
    if (!packs_) {
      impl_.resources_.guarded([&] {
        for (const Piece& one : pieces_) {
          packer_.unpack(one.other, one.from, one.to, packed + one.offset);
        }
      });
    }
    runs_.clear();
    pieces_.clear();
    filled_ = 0;
  }

  void end() { runs_.end(); }

 private:
  struct Piece {
    int other;  // the rank at the other end
    std::uint64_t from, to, offset;
  };
  bool is_root() const { return impl_.rank() == root_; }

  Impl& impl_;
  const Packer& packer_;
  RootedRuns runs_;
  int root_;
  bool packs_;  // or unpacks
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Piece> pieces_;
  std::uint64_t filled_ = 0;
};

void Communicator::Impl::run_rooted_packed(const comm::Task& task, const Packer& packer) {
  refuse_if_asked(task);
  begin(task);
  run_exclusively([&] {
    PackedPieces pieces(*this, task, packer);
    const std::size_t ranks = task.problem.layout.size();
    const std::uint64_t most = longest(task.problem.layout);
    for (std::uint64_t from = 0; from < most; from += RootedExchange::kPieceBytes) {
      for (std::size_t rank = 0; rank < ranks; ++rank) pieces.add(rank, from);
    }
    pieces.run();
    pieces.end();
  });
}

}  // namespace weft
