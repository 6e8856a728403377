// Paged lists: elements are there as soon as they are written.
#include "base/paged.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weft::paged_test {
namespace {

RC_GTEST_PROP(Paged, KeepsWhatIsWritten, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 200);
  const auto written = *rc::gen::container<std::map<std::size_t, int>>(
      rc::gen::inRange<std::size_t>(0, size), rc::gen::arbitrary<int>());
  Paged<int> list(size);
  for (const auto& [index, value] : written) list[index] = value;
  const Paged<int>& read = list;
  RC_ASSERT(read.size() == size);
  for (std::size_t index = 0; index < size; ++index) {
    const auto found = written.find(index);
    RC_ASSERT(read[index] == (found == written.end() ? 0 : found->second));
    const auto page = written.lower_bound(index / Paged<int>::kPage * Paged<int>::kPage);
    const bool has_page =
        page != written.end() && page->first / Paged<int>::kPage == index / Paged<int>::kPage;
    RC_ASSERT(read.has_page_of(index) == has_page);
  }
}

}  // namespace
}  // namespace weft::paged_test
