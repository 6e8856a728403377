#include "nic_profiles/probe/measurement_names.hpp"

#include <fmt/format.h>

#include "nic_profiles/value_text.hpp"

namespace weft::nic_profiles {

std::string name_of(std::string_view kind, const Timing& timing) {
  return fmt::format("{} of {}", kind, size_text(timing.bytes));
}

std::string name_of(std::string_view kind, const StreamTiming& timing) {
  const Stream& stream = timing.stream;
  return fmt::format("{} of {}, {} to {}{}", kind, size_text(stream.bytes), stream.senders,
                     stream.receivers, stream.both_ways ? ", both ways" : "");
}

std::string name_of(std::string_view kind, const CopyTiming& timing) {
  const Copy& copy = timing.copy;
  std::string text = fmt::format("{} of {}, {}", kind, size_text(copy.bytes),
                                 copy.origin == Origin::written ? "written by a core"
                                 : copy.origin == Origin::fresh ? "written by the adapter"
                                                                : "from memory");
  if (copy.blocks > 1) text += fmt::format(", {} blocks", copy.blocks);
  if (copy.cores > 1) text += fmt::format(", {} cores", copy.cores);
  if (copy.since_bytes > 0) text += fmt::format(", after {}", size_text(copy.since_bytes));
  return text;
}

std::string name_of(std::string_view kind, const Estimate& /*alone*/) {
  return std::string(kind);
}

}  // namespace weft::nic_profiles
