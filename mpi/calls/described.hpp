// Descriptions of calls by the names and arguments of MPI's functions, for Repeats.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "mpi/calls/repeats.hpp"

namespace weft::mpi {

/// A text as an argument of templates.
template <std::size_t Bytes>
struct Text {
  char bytes[Bytes];
  consteval Text(const char (&text)[Bytes]) { std::copy_n(text, Bytes, bytes); }  // NOLINT
  constexpr bool is(std::string_view other) const {
    return std::string_view(bytes, Bytes - 1) == other;
  }
};

// What a call's arguments are apart from its buffers.
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     const void* send, MPI_Count count, MPI_Datatype type, void* receive,
                     MPI_Count other_count, MPI_Datatype other_type, MPI_Comm comm) {
  arguments = {collective, comm, type, other_type, MPI_OP_NULL, count, other_count};
  buffers = {send, receive};
}
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  arguments = {{collective, root}, comm, type, type, MPI_OP_NULL, count, count};
  buffers = {buffer, buffer};
}
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
  arguments = {collective, comm, type, type, op, count, count};
  buffers = {send, receive};
}
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     const void* send, MPI_Count count, MPI_Datatype type, void* receive,
                     MPI_Count other_count, MPI_Datatype other_type, int root, MPI_Comm comm) {
  arguments = {{collective, root}, comm, type, other_type, MPI_OP_NULL, count, other_count};
  buffers = {send, receive};
}
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     int root, MPI_Comm comm) {
  arguments = {{collective, root}, comm, type, type, op, count, count};
  buffers = {send, receive};
}
inline void describe(plan::Collective collective, Arguments& arguments, BufferPair& buffers,
                     MPI_Comm comm) {
  arguments = {.what = collective, .comm = comm};
  buffers = {};
}

/// Whether calls of the function MPI_Name may be repeats.
template <Text name>
constexpr bool may_repeat() {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"Alltoall", "Allgather", "Bcast", "Allreduce", "Reduce", "Gather", "Scatter",
       "Reduce_scatter_block", "Scan", "Exscan", "Barrier"});
  return std::ranges::any_of(kNames, [](std::string_view one) { return name.is(one); });
}

/// The arguments of the function MPI_Name, where its calls may be repeats; false: they may not.
template <Text name, class... Given>
[[gnu::always_inline]] inline bool describe_call(Arguments& arguments, BufferPair& buffers,
                                                 Given... given) {
  if constexpr (name.is("Alltoall")) {
    describe(plan::Collective::alltoall, arguments, buffers, given...);
  } else if constexpr (name.is("Allgather")) {
    describe(plan::Collective::allgather, arguments, buffers, given...);
  } else if constexpr (name.is("Bcast")) {
    describe(plan::Collective::broadcast, arguments, buffers, given...);
  } else if constexpr (name.is("Allreduce")) {
    describe(plan::Collective::allreduce, arguments, buffers, given...);
  } else if constexpr (name.is("Reduce")) {
    describe(plan::Collective::reduce, arguments, buffers, given...);
  } else if constexpr (name.is("Gather")) {
    describe(plan::Collective::gather, arguments, buffers, given...);
  } else if constexpr (name.is("Scatter")) {
    describe(plan::Collective::scatter, arguments, buffers, given...);
  } else if constexpr (name.is("Reduce_scatter_block")) {
    describe(plan::Collective::reduce_scatter, arguments, buffers, given...);
  } else if constexpr (name.is("Scan")) {
    describe(plan::Collective::scan, arguments, buffers, given...);
  } else if constexpr (name.is("Exscan")) {
    describe(plan::Collective::exscan, arguments, buffers, given...);
  } else if constexpr (name.is("Barrier")) {
    describe(plan::Collective::barrier, arguments, buffers, given...);
  } else {
    return false;
  }
  return true;
}

}  // namespace weft::mpi
