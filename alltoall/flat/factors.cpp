// Alltoall over the factors of the number of members: an alltoall along each dimension of a grid.
//
// With p = q1 q2 ... qd, the number of a member is written in digits of these radices, the first
// the most significant. In phase k members whose numbers differ in digit k alone exchange, each
// with each: all blocks that must end where digit k is the partner's.
//
//   p = 6 = 3 * 2, member 0 = 00     phase 1: 00 -> 10: blocks for 10 11;  00 -> 20: for 20 21
//                                    phase 2: 00 -> 01: blocks of 00 10 20 for 01
//
// Before phase k a member has, in p places, the blocks whose destination has its first k - 1
// digits, and whose source has its others. A block stands at the place whose first k - 1 digits are
// the source's, and the others the destination's. So what a phase sends to a partner lies at places
// with one digit in common, one slice of strided blocks, and what comes from there goes to the same
// places of the next buffer: nothing is packed. Sources and targets are the first and the last
// buffer; those between take turns.
//
// The prime factors of p are put together as long as they do not pass the radix r; a prime above r
// is a factor by itself. For r >= p that is irecv-isend.
//
// With p members and blocks of m bytes, a member:
//   rounds    d
//   messages  the sum of qk - 1
//   bytes     the sum of (1 - 1/qk) p m; (p m / 2) lg p for r = 2 and p = 2^k, as with Bruck
//   copied    the sum of p m / qk: what a phase leaves where it is
//   stage 0, scratch min(d - 1, 2) p m, and what is packed where the sources or targets of a
//   message are not one slice
// Blocks of different sizes: the same with the sizes of the blocks that pass by, which every member
// on their way must know: not for alltoallv.
// In place: all blocks are copied to scratch first, as with Bruck.
//
// Source: Traeff, "Effective MPI: User-defined Datatypes and Cartesian Communicators for Zero-copy
// All-to-all Communication in Multidimensional Tori", arXiv:2605.29970, 2026.
#include <algorithm>
#include <array>

#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

using plan::OpId;
using plan::Slice;

namespace {

/// The factors, ascending.
std::vector<int> factors_of(int members, int most) {
  std::vector<int> primes;
  for (int prime = 2; members > 1; ++prime) {
    if (prime > members / prime) prime = members;
    for (; members % prime == 0; members /= prime) primes.push_back(prime);
  }
  std::vector<int> factors;
  for (auto prime = primes.rbegin(); prime != primes.rend(); ++prime) {
    const auto fits = std::ranges::find_if(
        factors, [&](int factor) { return static_cast<std::int64_t>(factor) * *prime <= most; });
    if (fits == factors.end()) {
      factors.push_back(*prime);
    } else {
      *fits *= *prime;
    }
  }
  std::ranges::sort(factors);
  return factors;
}

class Factors {
 public:
  Factors(plan::Builder& builder, const Exchange& exchange, std::vector<int> radices)
      : builder_(builder), exchange_(exchange), radices_(std::move(radices)) {}

  Arrived run() && {
    if (exchange_.size() == 1) return Transfers(builder_, exchange_).finish();
    here_.resize(exchange_.members.size());
    for (int to = 0; to < exchange_.size(); ++to) {
      if (exchange_.bytes(exchange_.self, to) == 0) continue;
      exchange_.source(to, here_[to].slices);
      if (exchange_.ready) exchange_.ready(to, here_[to].ready);
    }
    weight_ = exchange_.size();
    for (std::size_t phase = 0; phase < radices_.size(); ++phase) run_phase(phase);
    Arrived arrived;
    for (const Place& place : here_) add(arrived, place.ready);
    std::ranges::sort(arrived);
    arrived.erase(std::unique(arrived.begin(), arrived.end()), arrived.end());
    return arrived;
  }

 private:
  /// Where a block lies, and the ops after which it is there; of the next buffer those after which
  /// it may be written.
  struct Place {
    std::vector<Slice> slices;
    std::vector<OpId> ready;
  };

  static void add(std::vector<OpId>& ops, const std::vector<OpId>& more) {
    ops.insert(ops.end(), more.begin(), more.end());
  }
  int digit(int member) const { return member / weight_ % radix_; }
  int partner(int distance) const {
    const int own = digit(exchange_.self);
    return exchange_.self + ((own + distance + radix_) % radix_ - own) * weight_;
  }

  void run_phase(std::size_t phase) {
    radix_ = radices_[phase];
    weight_ /= radix_;
    there_ = next_buffer(phase);
    used_.clear();
    for (int distance = 1; distance < radix_; ++distance) {
      receive(partner(-distance));
      send(partner(distance));
    }
    keep();
    blocked_ = std::move(used_);
    here_ = std::move(there_);
  }

  /// The size of what stands at a place once the phase of `weight_` is over.
  std::uint64_t bytes_after(int place) const {
    const int below = exchange_.self % weight_;
    return exchange_.bytes(place - place % weight_ + below,
                           exchange_.self - below + place % weight_);
  }

  std::vector<Place> next_buffer(std::size_t phase) {
    std::vector<Place> places(exchange_.members.size());
    const bool is_last = phase + 1 == radices_.size();
    std::vector<std::uint64_t> sizes;
    std::uint64_t all = 0;
    for (int place = 0; place < exchange_.size(); ++place) {
      sizes.push_back(bytes_after(place));
      all += sizes.back();
    }
    Slice& buffer = buffers_[phase % 2];
    if (!is_last && buffer.bytes() < all) buffer = builder_.allocate_scratch(all);
    std::uint64_t offset = buffer.offset;
    for (int place = 0; place < exchange_.size(); ++place) {
      Place& one = places[place];
      if (sizes[place] == 0) continue;
      if (is_last) {
        exchange_.target(place, one.slices);
        if (exchange_.vacated) exchange_.vacated(place, one.ready);
      } else {
        one.slices = {Slice::contiguous(buffer.space, buffer.owner, offset, sizes[place])};
        if (phase >= 2) one.ready = blocked_;
      }
      offset += sizes[place];
    }
    return places;
  }

  /// What stands at places with this member's digit `of`, as one.
  Place collect(const std::vector<Place>& places, int of) const {
    Place all;
    for (int place = 0; place < exchange_.size(); ++place) {
      if (digit(place) != of) continue;
      const Place& one = places[place];
      all.slices.insert(all.slices.end(), one.slices.begin(), one.slices.end());
      add(all.ready, one.ready);
    }
    all.slices = plan::coalesce(all.slices);
    return all;
  }

  void send(int to) {
    const Place from = collect(here_, digit(to));
    if (from.slices.empty()) return;
    const int peer = exchange_.members[to];
    if (from.slices.size() == 1) {
      used_.push_back(builder_.send(peer, from.slices.front(), from.ready));
      return;
    }
    std::uint64_t bytes = 0;
    for (const Slice& slice : from.slices) bytes += slice.bytes();
    const Slice packed = builder_.allocate_scratch(bytes);
    std::vector<OpId> copies;
    builder_.gather(packed, from.slices, from.ready, copies);
    builder_.send(peer, packed, copies);
    add(used_, copies);
  }

  void receive(int from) {
    const Place into = collect(there_, digit(from));
    if (into.slices.empty()) return;
    const int peer = exchange_.members[from];
    std::vector<OpId> done;
    if (into.slices.size() == 1) {
      done.push_back(builder_.recv(peer, into.slices.front(), into.ready));
    } else {
      std::uint64_t bytes = 0;
      for (const Slice& slice : into.slices) bytes += slice.bytes();
      const Slice packed = builder_.allocate_scratch(bytes);
      const OpId received = builder_.recv(peer, packed);
      builder_.scatter(into.slices, packed, plan::After(received, into.ready), done);
    }
    set_ready(digit(from), done);
  }

  /// Copies what has this member's own digit to the same places of the next buffer.
  void keep() {
    const int own = digit(exchange_.self);
    const Place from = collect(here_, own);
    const Place into = collect(there_, own);
    if (from.slices.empty()) return;
    std::vector<OpId> done;
    builder_.copy(into.slices, from.slices, plan::After(from.ready, into.ready), done);
    set_ready(own, done);
    add(used_, done);
  }

  void set_ready(int of, const std::vector<OpId>& done) {
    for (int place = 0; place < exchange_.size(); ++place) {
      if (digit(place) == of) there_[place].ready = done;
    }
  }

  plan::Builder& builder_;
  const Exchange& exchange_;
  const std::vector<int> radices_;
  int radix_ = 1;             // of the phase
  int weight_ = 1;            // of its digit
  std::vector<Place> here_;   // what the phase begins with
  std::vector<Place> there_;  // and ends with
  std::array<Slice, 2> buffers_ = {};
  std::vector<OpId> used_;     // the ops of the phase that read `here_`
  std::vector<OpId> blocked_;  // those of the phase before
};

}  // namespace

Arrived factors(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters) {
  return Factors(builder, exchange, factors_of(exchange.size(), parameters.radix)).run();
}

}  // namespace weft::alltoall
