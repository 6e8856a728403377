#include "mpi/calls/guarded.hpp"

#include <fmt/format.h>

#include "mpi/world/group_bootstrap.hpp"

namespace weft::mpi {

void fail(const Context& context, const std::string& why) {
  const Attached& attached = context.attached;
  try {
    GroupBootstrap(World::get()->post(), attached.members, attached.context)
        .give_up(fmt::format("rank {}: {}", context.rank(), why));
  } catch (const std::exception&) {
    // The host's messages fail. Those in the call are told below.
  }
  context.weft().fail(why);
}

}  // namespace weft::mpi
