// Cross memory attach (CMA): copies between processes by process_vm_readv and process_vm_writev.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "verbs/channel/message_layout.hpp"

namespace weft::engine {

/// True when this process can read `process` by CMA, tried on a word at `address` that must be
/// `expected`; else errno holds the reason.
bool has_cma(pid_t process, std::uint64_t address, std::uint64_t expected) noexcept;

/// Copies bytes between this process and `process` by system calls. `theirs.base` is an address in
/// the other process. False with errno set when the kernel refuses; the destination may be partly
/// written then.
bool read_from(pid_t process, const verbs::Layout& ours, const verbs::Layout& theirs) noexcept;
bool write_to(pid_t process, const verbs::Layout& ours, const verbs::Layout& theirs) noexcept;

/// Reads runs of `process` into runs of this one, of as many bytes. Returns the bytes read, which
/// may be fewer; -1 with errno when the kernel refuses.
std::int64_t read_runs(pid_t process, std::span<const iovec> ours,
                       std::span<const iovec> theirs) noexcept;

}  // namespace weft::engine
