#include "mpi/world/key_values.hpp"

#include <exception>

#include "base/env.hpp"

namespace weft::mpi {

void keep_settings() noexcept {
  try {
    env::freeze();
  } catch (const std::exception&) {
    // Read when they are needed, then.
  }
}

bool is_disabled_here() noexcept {
  try {
    return env::flag("WEFT_DISABLE").value_or(false);
  } catch (const std::exception&) {
    return false;  // names of collectives, or invalid: that is read later
  }
}

std::string_view text_of(AddOn addon) noexcept {
  const bool preloaded = form == Form::preloaded;
  switch (addon) {
    case AddOn::unknown:
    case AddOn::missing:
      return "missing";
    case AddOn::disabled:
      return "disabled";
    case AddOn::other_form:
      return preloaded ? "component" : "loaded";
    case AddOn::loaded:
      return preloaded ? "loaded" : "component";
  }
  return "missing";
}

AddOn addon_of_text(std::string_view text) noexcept {
  if (text == text_of(AddOn::loaded)) return AddOn::loaded;
  if (text == text_of(AddOn::disabled)) return AddOn::disabled;
  if (text == text_of(AddOn::other_form)) return AddOn::other_form;
  return AddOn::missing;
}

}  // namespace weft::mpi
