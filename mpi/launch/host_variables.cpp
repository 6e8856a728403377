#include "mpi/launch/host_variables.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "weft/weft.hpp"

namespace weft {

namespace {

/// Else MPICH.
bool is_open_mpi() {
  static const bool is = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
    int length = 0;
    return MPI_Get_library_version(text.data(), &length) == MPI_SUCCESS &&
           std::string_view(text.data()).starts_with("Open MPI");
  }();
  return is;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char one) { return static_cast<char>(std::toupper(one)); });
  return text;
}

std::string algorithm_variable(const std::string& collective) {
  return is_open_mpi() ? "coll_tuned_" + collective + "_algorithm"
                       : "MPIR_CVAR_" + upper(collective) + "_INTRA_ALGORITHM";
}

struct Information {
  std::string description;
  MPI_T_enum values = MPI_T_ENUM_NULL;
};

/// Nullopt where the MPI has no such variable.
std::optional<Information> look_up(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  std::string text(4096, '\0');
  char own_name[256];
  int name_length = sizeof own_name, length = static_cast<int>(text.size());
  int verbosity = 0, binding = 0, scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Information found;
  if (MPI_T_cvar_get_info(index, own_name, &name_length, &verbosity, &type, &found.values,
                          text.data(), &length, &binding, &scope) != MPI_SUCCESS ||
      type != MPI_INT) {
    return std::nullopt;
  }
  text.resize(text.find('\0'));
  found.description = text;
  return found;
}

/// The names that Open MPI has for the values, which are their places.
std::vector<std::string> names_of(MPI_T_enum values) {
  char name[128];
  int count = 0, length = sizeof name;
  std::vector<std::string> names;
  if (values == MPI_T_ENUM_NULL ||
      MPI_T_enum_get_info(values, &count, name, &length) != MPI_SUCCESS) {
    return names;
  }
  for (int i = 0; i < count; ++i) {
    int value = 0;
    length = sizeof name;
    if (MPI_T_enum_get_item(values, i, &value, name, &length) != MPI_SUCCESS || value != i) break;
    names.emplace_back(name);
  }
  return names;
}

/// Names of algorithms that MPICH may have.
constexpr std::string_view kKnown[] = {"auto",
                                       "binomial",
                                       "brucks",
                                       "dissemination",
                                       "nb",
                                       "noncommutative",
                                       "pairwise",
                                       "pairwise_sendrecv_replace",
                                       "recursive_doubling",
                                       "recursive_halving",
                                       "reduce_scatter_allgather",
                                       "reduce_scatter_gather",
                                       "ring",
                                       "scatter_recursive_doubling_allgather",
                                       "scatter_ring_allgather",
                                       "scattered",
                                       "smp"};

/// MPICH's description has "name   - what it is" for each value, in their order, but nothing before
/// the next name: so a name is the longest that is known. An unknown one is empty.
std::vector<std::string> names_in(const std::string& description) {
  static constexpr std::string_view kDivider = " - ";
  std::vector<std::string> names;
  for (auto at = description.find(kDivider); at != description.npos;
       at = description.find(kDivider, at + 1)) {
    const auto last = description.find_last_not_of(' ', at);
    const std::string_view before = std::string_view(description).substr(0, last + 1);
    std::string_view longest;
    for (const std::string_view one : kKnown) {
      if (before.ends_with(one) && one.size() > longest.size()) longest = one;
    }
    names.emplace_back(longest);
  }
  return names;
}

}  // namespace

void prepare_environment() {
  if (is_open_mpi()) {
    ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    ::unsetenv("OMPI_MCA_coll_tuned_dynamic_rules_filename");
  } else {
    ::setenv("MPIR_CVAR_COLLECTIVE_FALLBACK", "error", 1);
    ::unsetenv("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE");
  }
}

HostVariables::HostVariables() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
    throw Error("MPI_T_init_thread failed");
  }
}

HostVariables::~HostVariables() {
  MPI_T_finalize();
}

std::vector<std::string> HostVariables::algorithms(const std::string& collective) const {
  const auto found = look_up(algorithm_variable(collective));
  if (!found) return {};
  return is_open_mpi() ? names_of(found->values) : names_in(found->description);
}

void HostVariables::set(const std::string& collective, int algorithm, std::uint64_t segment) {
  set_ = collective;
  write(algorithm_variable(collective), algorithm);
  if (is_open_mpi()) {
    const std::string variable = algorithm_variable(collective) + "_segmentsize";
    if (look_up(variable)) write(variable, static_cast<int>(segment));
  } else {
    write("MPIR_CVAR_" + upper(collective) + "_DEVICE_COLLECTIVE", 0);
  }
}

void HostVariables::reset() {
  if (set_.empty()) return;
  write(algorithm_variable(set_), 0);
  if (!is_open_mpi()) write("MPIR_CVAR_" + upper(set_) + "_DEVICE_COLLECTIVE", 1);
  set_.clear();
}

bool HostVariables::counts_at_making() {
  return is_open_mpi();
}

void HostVariables::write(const std::string& name, int value) {
  int index = 0, count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    throw Error(name + ": this MPI has no such control variable");
  }
  const int error = MPI_T_cvar_write(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  if (error != MPI_SUCCESS) throw Error(name + ": cannot be written while this MPI runs");
}

}  // namespace weft
