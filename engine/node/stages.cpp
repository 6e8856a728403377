#include "engine/node/stages.hpp"

#include "base/cast.hpp"

namespace weft::engine {

Stages::Stages(int place, int places, std::size_t half_bytes)
    : place_(place),
      half_bytes_(round_up(half_bytes, std::size_t{4096})),
      segments_(places),
      registrations_(places) {
  segments_[place] = SharedMemory::create("weft-stage", 2 * half_bytes_);
}

void Stages::attach(std::span<const std::string> handles) {
  for (std::size_t place = 0; place < segments_.size(); ++place) {
    if (static_cast<int>(place) != place_) segments_[place] = SharedMemory::attach(handles[place]);
  }
}

void Stages::register_with(verbs::Endpoint& endpoint) {
  for (std::size_t place = 0; place < segments_.size(); ++place) {
    if (registrations_[place]) continue;
    registrations_[place] =
        endpoint.register_memory(segments_[place].data(), segments_[place].size());
  }
}

}  // namespace weft::engine
