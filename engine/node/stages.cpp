#include "engine/node/stages.hpp"

#include "base/cast.hpp"

namespace weft::engine {

Stages::Stages(int place, int places, std::size_t half_bytes, MemoryUse use)
    : place_(place),
      half_bytes_(round_up(half_bytes, std::size_t{4096})),
      segments_(places),
      leases_(places) {
  segments_[place] = SharedMemory::create("weft-stage", 2 * half_bytes_, use);
}

void Stages::attach(std::span<const std::string> handles) {
  for (std::size_t place = 0; place < segments_.size(); ++place) {
    if (static_cast<int>(place) == place_) continue;
    segments_[place] = SharedMemory::attach(handles[place], 2 * half_bytes_);
  }
}

void Stages::register_with(SlabRegistrations& registrations, int place) {
  if (leases_[place] == nullptr) leases_[place] = registrations.of(segments_[place]);
}

}  // namespace weft::engine
