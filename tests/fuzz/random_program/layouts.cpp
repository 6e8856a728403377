#include "layouts.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

namespace weft::test {

namespace {

void measure(Layout& layout) {
  MPI_Aint lower = 0;
  MPI_Type_get_extent(layout.type, &lower, &layout.extent);
  layout.low = layout.high = 0;
  if (layout.pieces.empty()) return;
  layout.low = layout.high = layout.pieces[0].at;
  for (const Piece& piece : layout.pieces) {
    layout.low = std::min(layout.low, piece.at);
    layout.high = std::max(layout.high, piece.at + piece.bytes);
  }
}

Layout of_element(const Element& element) {
  Layout layout{.type = element.type, .pieces = {{0, element.bytes}}};
  if (element.second_bytes > 0) layout.pieces.push_back({element.second_at, element.second_bytes});
  measure(layout);
  return layout;
}

/// The layout with the pieces of `parts` at `at`, in this order, and the datatype `type`.
Layout made(MPI_Datatype type, std::span<const Layout> parts, std::span<const MPI_Aint> at) {
  Layout layout{.type = type, .is_made = true, .pieces = {}};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Layout& part = parts[parts.size() == 1 ? 0 : i];
    for (const Piece& piece : part.pieces) layout.pieces.push_back({piece.at + at[i], piece.bytes});
  }
  measure(layout);
  return layout;
}

/// Places for parts that do not overlap, in any order, with gaps.
std::vector<MPI_Aint> places(std::span<const Layout> parts, std::size_t many, Random& random) {
  std::vector<std::size_t> order(many);
  std::iota(order.begin(), order.end(), 0U);
  if (random.one_in(2)) {
    for (std::size_t i = many; i > 1; --i) {
      std::swap(order[i - 1], order[random.next() % i]);
    }
  }
  std::vector<MPI_Aint> at(many);
  MPI_Aint next = random.one_in(3) ? random.below(100) - 60 : 0;
  const bool packed = random.one_in(3);
  for (const std::size_t i : order) {
    const Layout& part = parts[parts.size() == 1 ? 0 : i];
    at[i] = next - part.low;
    next += part.high - part.low + (packed ? 0 : random.below(17));
  }
  return at;
}

std::vector<MPI_Aint> evenly(std::size_t many, MPI_Aint step) {
  std::vector<MPI_Aint> at(many);
  for (std::size_t i = 0; i < many; ++i) at[i] = static_cast<MPI_Aint>(i) * step;
  return at;
}

/// `many` of `part`, some times its extent apart.
Layout in_steps(const Layout& part, int many, Random& random) {
  const std::span<const Layout> parts(&part, 1);
  const auto count = static_cast<std::size_t>(many);
  const MPI_Aint wide = part.high - part.low;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (part.extent > 0 && random.below(4) != 0) {
    const int step = static_cast<int>((wide + part.extent - 1) / part.extent) + random.below(3);
    switch (random.below(3)) {
      case 0: {
        const int stride = random.one_in(3) ? -step : step;
        MPI_Type_vector(many, 1, stride, part.type, &type);
        return made(type, parts, evenly(count, stride * part.extent));
      }
      case 1: {
        std::vector<int> at(count);
        const int first = random.below(4) - 1;
        for (int i = 0; i < many; ++i) at[static_cast<std::size_t>(i)] = first + i * step;
        if (random.one_in(2)) std::reverse(at.begin(), at.end());
        const std::vector<int> ones(count, 1);
        if (random.one_in(2)) {
          MPI_Type_indexed(many, ones.data(), at.data(), part.type, &type);
        } else {
          MPI_Type_create_indexed_block(many, 1, at.data(), part.type, &type);
        }
        std::vector<MPI_Aint> bytes;
        for (const int each : at) bytes.push_back(each * part.extent);
        return made(type, parts, bytes);
      }
      default: {
        const std::array whole = {random.below(3) + 2, many * step + random.below(3)};
        const std::array inside = {1, many};
        const std::array start = {random.below(whole[0]), random.below(whole[1] - many + 1)};
        if (step > 1) break;  // elements of a subarray lie side by side
        MPI_Type_create_subarray(2, whole.data(), inside.data(), start.data(), MPI_ORDER_C,
                                 part.type, &type);
        std::vector<MPI_Aint> at = evenly(count, part.extent);
        for (MPI_Aint& each : at) each += (start[0] * whole[1] + start[1]) * part.extent;
        return made(type, parts, at);
      }
    }
  }
  const MPI_Aint step = (wide + random.below(20)) * (random.one_in(4) ? -1 : 1);
  MPI_Type_create_hvector(many, 1, step, part.type, &type);
  return made(type, parts, evenly(count, step));
}

Layout repeated(const Layout& part, int many, Random& random) {
  if (part.extent >= part.high - part.low && random.one_in(3)) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(many, part.type, &type);
    return made(type, {&part, 1}, evenly(static_cast<std::size_t>(many), part.extent));
  }
  if (random.one_in(2)) return in_steps(part, many, random);
  const std::vector<MPI_Aint> at = places({&part, 1}, static_cast<std::size_t>(many), random);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (random.one_in(2)) {
    const std::vector<int> ones(at.size(), 1);
    MPI_Type_create_hindexed(many, ones.data(), at.data(), part.type, &type);
  } else {
    MPI_Type_create_hindexed_block(many, 1, at.data(), part.type, &type);
  }
  return made(type, {&part, 1}, at);
}

Layout joined(std::span<const Layout> parts, std::span<const MPI_Aint> at) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> types;
  for (const Layout& part : parts) types.push_back(part.type);
  const std::vector<int> ones(parts.size(), 1);
  MPI_Type_create_struct(static_cast<int>(parts.size()), ones.data(), at.data(), types.data(),
                         &type);
  return made(type, parts, at);
}

/// The same pieces under a datatype around the other's.
Layout wrapped(const Layout& inner, Random& random) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  constexpr MPI_Aint kNone = 0;
  if (random.one_in(3)) {
    MPI_Type_dup(inner.type, &type);
  } else {
    const MPI_Aint extent = inner.high - inner.low + random.below(3) * 8;
    MPI_Type_create_resized(inner.type, inner.low - random.below(2) * 8, extent, &type);
  }
  return made(type, {&inner, 1}, {&kNone, 1});
}

/// The shortest part that the signature repeats, and how often.
std::pair<std::size_t, int> period(const Signature& signature, Random& random) {
  const std::size_t all = signature.size();
  std::vector<std::size_t> found;
  for (std::size_t length = 1; length < all; ++length) {
    if (all % length != 0) continue;
    bool repeats = true;
    for (std::size_t i = length; i < all && repeats; ++i) {
      repeats = signature[i] == signature[i - length];
    }
    if (repeats) found.push_back(length);
  }
  if (found.empty()) return {all, 1};
  const std::size_t length = found[random.next() % found.size()];
  return {length, static_cast<int>(all / length)};
}

Layout drawn(const Signature& signature, int depth, Random& random);

Layout of_parts(const Signature& signature, int depth, Random& random) {
  std::vector<Layout> parts;
  for (std::size_t begin = 0; begin < signature.size();) {
    const std::size_t left = signature.size() - begin;
    const std::size_t many = depth <= 1 ? 1 : 1 + random.next() % left;
    const auto first = signature.begin() + static_cast<std::ptrdiff_t>(begin);
    parts.push_back(drawn({first, first + static_cast<std::ptrdiff_t>(many)}, depth - 1, random));
    begin += many;
  }
  Layout layout = joined(parts, places(parts, parts.size(), random));
  for (Layout& part : parts) part.free();
  return layout;
}

Layout drawn(const Signature& signature, int depth, Random& random) {
  if (depth <= 0 && signature.size() > 1) {
    std::vector<Layout> parts;
    std::vector<MPI_Aint> at;
    MPI_Aint next = 0;
    for (const Element* element : signature) {
      parts.push_back(of_element(*element));
      at.push_back(next);
      next += parts.back().extent;
    }
    return joined(parts, at);
  }
  if (depth <= 0 || (signature.size() == 1 && random.one_in(2))) return of_element(*signature[0]);
  const auto [length, many] = period(signature, random);
  if (signature.size() == 1 || random.one_in(4)) {
    Layout inner = drawn(signature, depth - 1, random);
    Layout layout = wrapped(inner, random);
    inner.free();
    return layout;
  }
  if (many == 1 || random.one_in(4)) return of_parts(signature, depth, random);
  const Signature once(signature.begin(), signature.begin() + static_cast<std::ptrdiff_t>(length));
  Layout part = drawn(once, depth - 1, random);
  Layout layout = repeated(part, many, random);
  part.free();
  return layout;
}

}  // namespace

void Layout::free() {
  if (is_made) MPI_Type_free(&type);
  is_made = false;
}

Signature draw_signature(Random& random, int longest, bool alike) {
  const auto any = [&random] {
    const std::vector<Element>& all = elements();
    const Element* element = nullptr;
    do {
      element = &all[random.next() % all.size()];
      // Open MPI 4.1 overruns a buffer where a larger one is cut in two on its way.
    } while (element->bytes > 16);
    return element;
  };
  Signature part;
  const int different = alike ? 1 : 1 + random.below(3);
  for (int i = 0; i < different; ++i) part.push_back(any());
  Signature signature;
  const int times = 1 + random.below(std::max(1, longest / different));
  for (int i = 0; i < times; ++i) signature.insert(signature.end(), part.begin(), part.end());
  return signature;
}

Layout draw_layout(const Signature& signature, int depth, Random& random) {
  Layout layout = drawn(signature, depth, random);
  if (layout.is_made) MPI_Type_commit(&layout.type);
  return layout;
}

}  // namespace weft::test
