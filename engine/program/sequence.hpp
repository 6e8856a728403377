// Sequence: a short program as a flat list of actions, which a rank does one after the other where
// nothing else is under way.
//
// Most calls of a program are small ones inside a node, whose work is less than that of looking
// after steps in any order. Where all that a program touches lies in the rank's own buffers,
// stages, inline messages and messages of one fragment between ranks of the node, its list order is
// made such a list once, with all that does not change between calls worked out. Where an action
// has to wait for long, the rest is done as steps of the program (Execution::resume_at()).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.hpp"

namespace weft::engine {

struct Action {
  enum class Kind : std::uint8_t {
    send,           ///< an inline message
    signal,         ///< without bytes
    await_message,  ///< the wait for an inline message
    await_signal,
    copy,         ///< of bytes without gaps
    copy_blocks,  ///< of any other layout: that of the step
    combine,      ///< a reduction of bytes without gaps
    send_over,    ///< a message over a channel
    receive_over,
  };
  enum class Memory : std::uint8_t { input, output, scratch, message, stage };
  /// Where bytes lie: with Memory::message, those of inline message `ordinal` from the rank at
  /// `place`, and with Memory::stage in that rank's stage.
  struct Side {
    Memory memory = Memory::input;
    std::uint16_t place = 0;
    std::uint32_t ordinal = 0;
    std::uint32_t offset = 0;
  };

  Kind kind = Kind::copy;
  plan::Operand dst_operand = plan::Operand::left;
  /// Of the other rank; send, signal and waits. Of messages over a channel: which of the program's
  /// peers it is.
  std::uint16_t place = 0;
  std::uint32_t ordinal = 0;  ///< as Step::ordinal
  std::uint32_t step = 0;     ///< of the program
  std::uint32_t bytes = 0;
  Side from, to;
};

class Sequence {
 public:
  Sequence() = default;

  /// Becomes that of a program; empty where it has none. `most_message_bytes`: of a message to or
  /// from another rank that can be moved at once; 0 where some peer is on another node. Allocates
  /// nothing where it was one of a program with as many steps.
  void assign(const Program& program, std::uint64_t most_message_bytes);
  /// The same where it is the program's already, but for numbers of its steps: it has the same
  /// steps, and leaves out the same.
  void renumber(const Program& program, std::uint64_t most_message_bytes);

  bool empty() const noexcept { return actions_.empty(); }
  std::span<const Action> actions() const noexcept { return actions_; }
  /// Whether it writes what a neighbour may still read: then rule 2 holds (run/entry_rule.hpp).
  bool needs_room() const noexcept { return needs_room_; }
  bool uses_stage() const noexcept { return uses_stage_; }
  bool hears_all_places() const noexcept { return hears_all_; }

  /// What it adds to the counts of signals between this rank and another.
  struct Change {
    std::uint32_t place = 0;
    Counts counts;
  };
  std::span<const Change> changes() const noexcept { return changes_; }

 private:
  bool add(const Program& program, std::uint32_t id, std::uint64_t most_message_bytes);

  std::vector<Action> actions_;
  std::vector<Change> changes_;
  bool needs_room_ = false;
  bool uses_stage_ = false;
  bool hears_all_ = false;
};

}  // namespace weft::engine
