#include "mpi/calls/pieces.hpp"

#include <algorithm>
#include <vector>

namespace weft::mpi {

namespace {

// Of all blocks together. Below it packing and unpacking them whole stays in a cache, and takes
// less time than the question.
constexpr std::size_t kLeastInParts = 128 << 10;

// The largest of all ranks counts. kMuch: nothing to pack, but so many bytes that a rank which
// packs them whole in one of the next calls needs a lot of memory. kLittle: little to pack.
enum Wish : int { kNone, kMuch, kLittle, kPieces, kWhole };

int wish_of(std::initializer_list<const Blocks*> used) {
  int wish = kNone;
  for (const Blocks* one : used) {
    if (one->is_packed() && one->total_bytes() != 0)
      wish = std::max<int>(wish, one->can_be_cut() ? kPieces : kWhole);
  }
  return wish;
}

/// The largest wish of all ranks. What was said of the next call holds for the question, and then
/// for the call.
int ask(const Context& context, int mine) {
  const Resolution* largest =
      context.world.operations().resolve(MPI_MAX, MPI_INT, context.attached.operations);
  if (largest == nullptr) throw Error("the host refuses MPI_MAX of MPI_INT");
  int all = mine;
  const Communicator::IfNew if_new = context.weft().if_next_is_new();
  context.weft().allreduce(&mine, &all, 1, largest->operation);
  context.weft().if_next_is_new(if_new);
  return all;
}

int wish_of_sides(const Blocks& send, const Blocks& receive) {
  const bool in_place = &send == &receive;
  return !in_place && send.has_buffer_of(receive) ? kWhole : wish_of({&send, &receive});
}
int wish_of_sides(const TypedBlocks& send, const TypedBlocks& receive) {
  return send.is_packed() || receive.is_packed() ? kPieces : kNone;
}

/// Whether some rank wishes for pieces and none against them. Where some pack little, or have much,
/// the next call may be one in which much is packed.
bool ask_seldom(const Context& context, SeldomAsked& asked, int mine) {
  if (!asked.is_due()) return false;
  const int wish = ask(context, mine);
  asked.answered(wish != kNone && wish != kWhole);
  return wish == kPieces;
}

}  // namespace

std::optional<std::size_t> piece_of(const Context& context, std::size_t block_bytes, int blocks,
                                    std::initializer_list<const Blocks*> used) {
  const auto count = static_cast<std::size_t>(blocks);
  if (block_bytes * count <= kPiece || ask(context, wish_of(used)) != kPieces) return std::nullopt;
  return std::max<std::size_t>(kPiece / count, 1);
}

std::optional<std::size_t> number_of_pieces(const Context& context, std::size_t total_bytes,
                                            std::initializer_list<const Blocks*> used) {
  if (total_bytes <= kPiece || ask(context, wish_of(used)) != kPieces) return std::nullopt;
  return ceil_div(total_bytes, kPiece);
}

bool go_in_parts(const Context& context, std::size_t block_bytes, const Blocks& send,
                 const Blocks& receive) {
  const std::size_t bytes = block_bytes * static_cast<std::size_t>(context.size());
  if (bytes < kLeastInParts) return false;
  // Packed whole, these would be too much for a single call: and they take far longer than to ask.
  if (bytes > kPiece) return ask(context, wish_of_sides(send, receive)) == kPieces;
  return ask_seldom(context, context.attached.packs, wish_of_sides(send, receive));
}

namespace {

/// Whether blocks that this rank receives would take system calls, were they not packed in parts.
template <class Side>
bool takes_system_calls(const Context& context, const Side& receive) {
  const std::vector<Part>& parts = context.attached.lists.receive_parts;
  if (receive.is_packed() || parts.empty()) return false;
  const Part& longest = *std::ranges::max_element(parts, {}, &Part::bytes);
  Buffer none;  // what is not packed is received where it lies
  return context.weft().takes_system_calls(receive.output(none), longest.bytes);
}

template <class Side>
bool go_in_parts_irregularly(const Context& context, const Side& send, const Side& receive) {
  const bool packs_in_parts = context.weft().packs_in_parts();
  const std::size_t least = packs_in_parts ? kLeastInParts : kPiece;
  const std::size_t bytes = std::max(send.total_bytes(), receive.total_bytes());
  int mine = wish_of_sides(send, receive);
  if (bytes < least) {
    // Inside a node the question would take as long as a short call.
    mine = mine == kPieces && !packs_in_parts ? kLittle : kNone;
  } else if (mine == kNone && takes_system_calls(context, receive)) {
    mine = kPieces;
  } else if (mine == kNone && packs_in_parts && bytes > kPiece) {
    mine = kMuch;  // between nodes it takes longer to ask
  }
  return ask_seldom(context, context.attached.packs_irregular, mine);
}

}  // namespace

bool go_in_parts(const Context& context, const Blocks& send, const Blocks& receive) {
  return go_in_parts_irregularly(context, send, receive);
}

bool go_in_parts(const Context& context, const TypedBlocks& send, const TypedBlocks& receive) {
  return go_in_parts_irregularly(context, send, receive);
}

}  // namespace weft::mpi
