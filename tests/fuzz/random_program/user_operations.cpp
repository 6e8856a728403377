#include "user_operations.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace weft::test {

namespace {

constexpr int kPrime = 46337;
constexpr int kPlaces = 96;  // more than calls of a program are pending

struct Place {
  bool is_taken = false;
  UserKind kind = UserKind::chain;
  const Layout* layout = nullptr;
};
std::array<Place, kPlaces> places;

int load(const std::byte* from) {
  int value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

int wrapped(long long value) {
  return static_cast<int>(((value % kPrime) + kPrime) % kPrime);
}

void store(long long value, std::byte* to) {
  const int number = wrapped(value);
  std::memcpy(to, &number, sizeof number);
}

template <int kPlace>
void function(void* in, void* inout, int* count, MPI_Datatype*) {
  const Place& place = places[kPlace];
  for (int i = 0; i < *count; ++i) {
    const MPI_Aint at = i * place.layout->extent;
    combine(place.kind, *place.layout, static_cast<std::byte*>(in) + at,
            static_cast<std::byte*>(inout) + at);
  }
}

template <int... kAll>
std::array<MPI_User_function*, kPlaces> functions(std::integer_sequence<int, kAll...>) {
  return {function<kAll>...};
}

}  // namespace

int draw_value(Random& random) {
  return random.below(kPrime);
}

void combine(UserKind kind, const Layout& layout, const std::byte* first, std::byte* second) {
  for (std::size_t i = 0; i + 1 < layout.pieces.size(); i += 2) {
    const MPI_Aint slope = layout.pieces[i].at;
    const MPI_Aint shift = layout.pieces[i + 1].at;
    const long long a = load(first + slope);
    const long long b = load(first + shift);
    const long long c = load(second + slope);
    const long long d = load(second + shift);
    store(kind == UserKind::chain ? a * c : a + c, second + slope);
    store(kind == UserKind::chain ? c * b + d : b + d, second + shift);
  }
}

UserOperation::UserOperation(UserKind kind, const Layout& layout) {
  static const auto all = functions(std::make_integer_sequence<int, kPlaces>{});
  while (places[static_cast<std::size_t>(place_)].is_taken) ++place_;
  places[static_cast<std::size_t>(place_)] = {true, kind, &layout};
  MPI_Op_create(all[static_cast<std::size_t>(place_)], kind == UserKind::total ? 1 : 0, &handle_);
}

UserOperation::~UserOperation() {
  places[static_cast<std::size_t>(place_)].is_taken = false;
}

}  // namespace weft::test
