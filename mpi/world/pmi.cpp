// Key values under MPICH's launcher, by PMI-1: the rank writes a line to the socket that PMI_FD
// names, and reads a line as the answer. MPICH's own calls use the same socket in the same way,
// inside MPI_Init; the add-on's come before and after these, so that the two do not mix.
#include "mpi/world/key_values.hpp"

#include "mpi/host/host.hpp"

#if !WEFT_HOST_USES_PMIX

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/env.hpp"

namespace weft::mpi {

namespace {

std::string kvs_name;  // of this job; empty: no launcher of MPICH's
KeyValues found = KeyValues::none;

/// The value of " NAME=VALUE" in a line; empty when it is not there.
std::string value_in(const std::string& line, std::string_view name) {
  const std::string mark = fmt::format(" {}=", name);
  const auto at = line.find(mark);
  if (at == std::string::npos) return "";
  const auto begin = at + mark.size();
  return line.substr(begin, line.find_first_of(" \n", begin) - begin);
}

/// Sends a line to the launcher and returns its answer; empty when that fails.
std::string ask(int socket, std::string_view line) {
  while (!line.empty()) {
    const auto sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return "";
    if (sent > 0) line.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string answer;
  while (!answer.ends_with('\n')) {
    char bytes[256];
    const auto got = ::recv(socket, bytes, sizeof bytes, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) return "";
    if (got > 0) answer.append(bytes, static_cast<std::size_t>(got));
  }
  return answer;
}

/// The socket to the launcher of MPICH. Others set PMI_FD, too, for other dialects of PMI.
std::optional<int> launcher_socket() {
  if (!env::text("MPI_LOCALNRANKS") || !env::text("PMI_RANK")) return std::nullopt;
  const auto socket = env::integer("PMI_FD", 0, 1 << 20);
  if (!socket) return std::nullopt;
  return static_cast<int>(*socket);
}

std::string key_of(int rank) {
  return fmt::format("weft-addon-{}", rank);
}

}  // namespace

void publish_before_init() noexcept {
  if (found != KeyValues::none) return;
  try {
    const auto socket = launcher_socket();
    if (!socket) return;
    found = KeyValues::not_for_this_rank;
    // The first "init" that a node's launcher gets empties its list of values.
    if (value_in(ask(*socket, "cmd=init pmi_version=1 pmi_subversion=1\n"), "rc") != "0") return;
    kvs_name = value_in(ask(*socket, "cmd=get_my_kvsname\n"), "kvsname");
    if (kvs_name.empty()) return;
    const auto rank = env::integer("PMI_RANK", 0, 1 << 30);
    const auto answer =
        ask(*socket, fmt::format("cmd=put kvsname={} key={} value={}\n", kvs_name,
                                 key_of(static_cast<int>(rank.value_or(0))),
                                 text_of(is_disabled_here() ? AddOn::disabled : AddOn::loaded)));
    if (value_in(answer, "rc") == "0") found = KeyValues::usable;
  } catch (const std::exception&) {
    // This rank is one without the add-on, to the others and to itself.
    found = KeyValues::not_for_this_rank;
  }
}

KeyValues key_values() noexcept {
  return found;
}

AddOn addon_of(int rank) noexcept {
  try {
    const auto line = fmt::format("cmd=get kvsname={} key={}\n", kvs_name, key_of(rank));
    const std::string answer = ask(launcher_socket().value_or(-1), line);
    return answer.empty() ? AddOn::unknown : addon_of_text(value_in(answer, "value"));
  } catch (const std::exception&) {
    return AddOn::unknown;
  }
}

}  // namespace weft::mpi

#endif
