#include "side.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::test {

namespace {

Signature times(const Signature& signature, int many) {
  Signature result;
  for (int i = 0; i < many; ++i) result.insert(result.end(), signature.begin(), signature.end());
  return result;
}

std::vector<std::size_t> any_order(std::size_t many, Random& random) {
  std::vector<std::size_t> order(many);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = many; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  return order;
}

}  // namespace

Side::Side(const Shape& shape, const std::vector<Content>& contents, Random& random) {
  draw_layouts(shape, contents, shape.depth);
  std::vector<Block> blocks = placed(contents, shape.spread, random);
  if (!are_apart(blocks)) {
    free_types();
    draw_layouts(shape, contents, 0);
    blocks = placed(contents, shape.spread, random);
  }
  memory_ = std::make_unique<Memory>(std::move(blocks), random);
}

void Side::draw_layout(const Shape& shape, std::uint64_t seed, int depth) {
  Random random({seed});
  const int units = random.one_in(2) ? shape.common : 1;
  const int deep = random.one_in(3) ? 0 : depth;
  const Signature signature = times(shape.signature, units);
  auto layout = std::make_unique<Layout>(weft::test::draw_layout(signature, deep, random));
  if (const std::vector<Block> many = {{layout.get(), 40, 0, 0}}; !are_apart(many)) {
    layout->free();
    *layout = weft::test::draw_layout(signature, 0, random);
  }
  units_.push_back(units);
  types_.push_back(layout->type);
  layouts_.push_back(std::move(layout));
}

void Side::draw_layouts(const Shape& shape, const std::vector<Content>& contents, int depth) {
  layouts_.clear();
  units_.clear();
  types_.clear();
  if (shape.spread != Spread::typed) return draw_layout(shape, shape.layout, depth);
  for (const Content& content : contents) draw_layout(shape, content.layout, depth);
  // Open MPI 4.1 looks at the datatypes of as many neighbours as a topology has.
  types_.resize(std::max<std::size_t>(types_.size(), 16), MPI_BYTE);
}

std::vector<Block> Side::placed(const std::vector<Content>& contents, Spread spread,
                                Random& random) {
  std::vector<Block> blocks(contents.size());
  counts_.assign(contents.size(), 0);
  displacements_.assign(contents.size(), 0);
  std::vector<std::size_t> order(contents.size());
  std::iota(order.begin(), order.end(), 0U);
  if (spread != Spread::regular) order = any_order(contents.size(), random);
  MPI_Aint next = spread == Spread::irregular ? random.below(5) - 2 : 0;  // in elements, or bytes
  for (const std::size_t i : order) {
    const std::size_t with = layouts_.size() == 1 ? 0 : i;
    const Layout& layout = *layouts_[with];
    counts_[i] = contents[i].units / units_[with];
    blocks[i] = {&layout, counts_[i], next * layout.extent, contents[i].name};
    if (spread == Spread::typed) {
      blocks[i].at = next;
      displacements_[i] = static_cast<int>(next);
      next += (counts_[i] + 1) * (layout.extent + layout.high - layout.low) + random.below(9);
    } else {
      displacements_[i] = static_cast<int>(next);
      next += counts_[i] + (spread == Spread::irregular && random.one_in(3) ? random.below(4) : 0);
    }
  }
  return blocks;
}

void Side::expect(std::size_t block, std::uint64_t turn) noexcept {
  memory_->expect_named(memory_->blocks()[block], turn);
}

void Side::give(std::size_t block, std::uint64_t turn) noexcept {
  expect(block, turn);
  memory_->hold_named(memory_->blocks()[block], turn);
}

void Side::give_other(std::size_t block, std::uint64_t name, std::uint64_t turn) noexcept {
  Block other = memory_->blocks()[block];
  other.name = name;
  memory_->hold_named(other, turn);
}

void Side::free_types() {
  for (const auto& layout : layouts_) layout->free();
}

}  // namespace weft::test
