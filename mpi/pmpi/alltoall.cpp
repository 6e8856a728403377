#include "mpi/pmpi/alltoall.hpp"

#include "mpi/pmpi/host.hpp"

namespace weft::pmpi {

std::optional<Passed> Alltoall::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.parts;
  if (receive_.is_in_place() || !receive_.look_up(context.layouts(), context.size(), parts))
    return Passed::arguments;
  if (!send_.is_in_place()) {
    if (!send_.look_up(context.layouts(), context.size(), parts) ||
        send_.bytes(0) != receive_.bytes(0)) {
      return Passed::arguments;
    }
    if (kRefusesEqualBuffers && send_.bytes(0) != 0 && receive_.names_like(0, send_))
      return Passed::arguments;
  }
  if (receive_.bytes(0) == 0) return Passed::no_bytes;
  return std::nullopt;
}

void Alltoall::run(const Context& context) {
  const Blocks& from = send_.is_in_place() ? receive_ : send_;
  const std::byte* input = from.input(context.layouts(), context.attached.packed_input);
  std::byte* output = receive_.output(context.attached.packed_output);
  context.weft().alltoall(input, output, receive_.bytes(0));
  receive_.deliver(context.layouts(), output);
}

}  // namespace weft::pmpi
