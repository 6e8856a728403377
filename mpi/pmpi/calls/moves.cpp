#include "mpi/pmpi/calls/moves.hpp"

#include "mpi/pmpi/host.hpp"

namespace weft::pmpi {

std::optional<Passed> Barrier::judge(const Context&) {
  return std::nullopt;
}

void Barrier::run(const Context& context) {
  context.weft().barrier();
}

std::optional<Passed> Allgather::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.parts;
  const int rank = context.rank();
  if (receive_.is_in_place() || !receive_.look_up(context.layouts(), context.size(), parts))
    return Passed::arguments;
  if (!send_.is_in_place()) {
    if (!send_.look_up(context.layouts(), 1, parts) || send_.bytes(0) != receive_.bytes(rank))
      return Passed::arguments;
    if (kRefusesEqualBuffers && send_.bytes(0) != 0 && receive_.names_like(rank, send_))
      return Passed::arguments;
  }
  if (receive_.total_bytes() == 0) return Passed::no_bytes;
  return std::nullopt;
}

void Allgather::run(const Context& context) {
  Attached& attached = context.attached;
  std::byte* output = receive_.output(attached.packed_output);
  const std::byte* input = output + receive_.offset(context.rank());
  if (send_.is_in_place()) {
    receive_.pack(context.layouts(), context.rank(), output);
  } else {
    input = send_.input(context.layouts(), attached.packed_input);
  }
  if (receive_.is_irregular()) {
    context.weft().allgather(input, output, receive_.parts());
  } else {
    context.weft().allgather(input, output, receive_.bytes(0));
  }
  receive_.deliver(context.layouts(), output);
}

}  // namespace weft::pmpi
