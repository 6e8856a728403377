#include "engine/run/entry_rule.hpp"

namespace weft::engine {

bool EntryRule::may_enter(std::uint64_t number, std::uint64_t oldest,
                          const Program& program) noexcept {
  if (number >= oldest + 2) return false;
  if (node_ == nullptr || !(program.uses_stage() || program.signals())) return true;
  const bool is_shared = program.uses_stage() || program.uses_peer_buffers();
  return oldest == last_ ? has_room(number, is_shared) : is_completed(number, is_shared);
}

bool EntryRule::is_completed(std::uint64_t number, bool is_shared) noexcept {
  const std::uint64_t ahead = is_shared ? 2 : node_->ahead();
  if (number <= ahead) return true;
  for (int place = 0; place < node_->places(); ++place) {
    std::uint64_t& completed = completed_[static_cast<std::size_t>(place)];
    if (place == node_->place() || completed + ahead >= number) continue;
    completed = node_->completed_by(place);
    if (completed + ahead < number) return false;
  }
  return true;
}

}  // namespace weft::engine
