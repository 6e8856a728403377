#include "gather/flat/team_segments.hpp"

#include <algorithm>

namespace weft::gather {

Slices cut(const Slices& slices, std::uint64_t from, std::uint64_t to) {
  if (slices.size() == 1) {
    const std::uint64_t last = std::min(to, slices.front().bytes());
    return from < last ? plan::subslices(slices.front(), from, last - from) : Slices();
  }
  Slices result;
  std::uint64_t begin = 0;
  for (const plan::Slice& slice : slices) {
    const std::uint64_t first = std::max(from, begin);
    const std::uint64_t last = std::min(to, begin + slice.bytes());
    if (first < last) {
      const Slices pieces = plan::subslices(slice, first - begin, last - first);
      result.insert(result.end(), pieces.begin(), pieces.end());
    }
    begin += slice.bytes();
  }
  return result;
}

Team cut(const Team& team, std::uint64_t from, std::uint64_t to) {
  Team part = team;
  part.bytes = [bytes = team.bytes, from, to](int block) {
    const std::uint64_t all = bytes(block);
    return std::min(to, all) - std::min(from, all);
  };
  part.source = [source = team.source, from, to](int member, int block) {
    return cut(source(member, block), from, to);
  };
  part.target = [target = team.target, from, to](int member, int block) {
    return cut(target(member, block), from, to);
  };
  return part;
}

Arrived segmented(const Team& team, std::uint64_t segment_bytes,
                  const std::function<Arrived(const Team&)>& emit) {
  if (segment_bytes == 0) return emit(team);
  std::uint64_t longest = 0;
  for (int block = 0; block < team.blocks; ++block) longest = std::max(longest, team.bytes(block));
  if (segment_bytes >= longest) return emit(team);
  Arrived arrived(static_cast<std::size_t>(team.blocks));
  for (std::uint64_t from = 0; from < longest; from += segment_bytes) {
    const Arrived part = emit(cut(team, from, from + std::min(segment_bytes, longest - from)));
    for (std::size_t block = 0; block < part.size(); ++block) {
      arrived[block].insert(arrived[block].end(), part[block].begin(), part[block].end());
    }
  }
  return arrived;
}

Arrived emit_on_team(plan::Builder& builder, const Team& team, const algorithm::FlatForm& form,
                     const algorithm::Parameters& parameters) {
  const bool cuts = form.reads.has(algorithm::Parameter::segment);
  return segmented(team, cuts ? parameters.segment : 0, [&](const Team& part) {
    return std::get<algorithm::EmitTeam>(form.emit)(builder, part, parameters);
  });
}

}  // namespace weft::gather
