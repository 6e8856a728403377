// State that weft attaches to the program's communicators.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/host/host.hpp"
#include "mpi/operations/operations.hpp"
#include "mpi/recording/recording.hpp"
#include "mpi/report/job_report.hpp"
#include "mpi/world/in_flight.hpp"
#include "mpi/world/meetings.hpp"
#include "mpi/world/neighbourhood.hpp"
#include "mpi/world/put_off.hpp"
#include "mpi/world/race.hpp"
#include "mpi/world/seldom_asked.hpp"
#include "mpi/world/take_over.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

class World;
class PendingQueue;

/// Buffer for packed data, kept between calls unless it is large.
class Buffer {
 public:
  std::byte* reserve(std::size_t bytes);
  /// To be called after a call: frees the memory where it is too large to be kept.
  void release_if_large() noexcept {
    if (bytes_ > kMostKept) release();
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20;

  void release() noexcept;
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// What the recording of a communicator's calls needs.
struct InRecording {
  /// The communicator's number there: not asked for yet, or there are too many.
  std::optional<std::optional<std::uint32_t>> number;
  /// The last kind that was looked up, and its number.
  RecordedKind last_kind;
  std::optional<std::uint32_t> last_number;
  /// By a component of the host: a call that the host serves, and the calls in it.
  struct InHostNow {
    unsigned depth = 0;
    std::uint32_t kind = 0;
    std::uint64_t begin = 0;
  } in_host;
};

/// What tells a communicator apart from all others of its ranks.
struct Lineage {
  /// Alike on each rank; 0: not known yet, or it was made in a way that the add-on does not follow.
  std::uint64_t context = 0;
  /// Communicators that were made of it: by calls of all its ranks, and by calls of some
  /// (MPI_Comm_create_group) by their tag and group.
  std::uint64_t children = 0;
  std::map<std::uint64_t, std::uint64_t> children_of_group;
  /// How many persistent collectives were made on it; of one of these: which one it is, from 1.
  std::uint64_t persistents = 0;
  std::uint64_t persistent = 0;
};

/// Of a Cartesian communicator, or one of a graph.
struct Topology {
  /// From the first neighbourhood collective on.
  mutable std::optional<Neighbourhood> neighbourhood;
  /// Of a distributed graph: each rank has edges, as all have said when it was made.
  bool is_of_all = false;
};

/// Lists of the call at hand: kept, so that the next one allocates nothing.
struct CallLists {
  std::vector<Part> parts;          // of irregular calls
  std::vector<Part> receive_parts;  // of calls that have two lists
  std::vector<std::size_t> counts;  // of MPI_Reduce_scatter
  std::vector<Edge> out, in;        // of neighbourhood collectives
};

/// True when one rank sends, and all others wait for it whoever serves the call: such calls may
/// become meetings.
constexpr bool is_sent_by_root(plan::Collective collective) noexcept {
  return collective == plan::Collective::broadcast || collective == plan::Collective::scatter;
}

/// The state of one communicator of the program. Used by one thread at a time, as collective calls
/// on a communicator are.
struct Attached {
  InRecording& recording() {
    if (in_recording == nullptr) in_recording = std::make_unique<InRecording>();
    return *in_recording;
  }

  /// Whether weft serves calls of a collective without a look at what is put off: nothing is, or
  /// ranks never agree in them, as they may be left early and are no meetings.
  bool is_served(plan::Collective collective) const noexcept {
    if (state == State::connected) [[likely]]
      return true;
    return state == State::putting_off && may_be_left_early(collective) &&
           !is_sent_by_root(collective);
  }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  /// The same on all ranks. not_connected: the host serves the calls until the take-over rule is
  /// due. putting_off: connected, but what calls have put off is still to be agreed on.
  /// passed_through: all calls go to the host for good.
  enum class State : std::uint8_t {
    not_connected,
    connected,
    putting_off,
    passed_through
  } state = State::not_connected;
  Passed why = Passed::setup_failed;  // of passed_through
  std::string broken;                 // a rank was lost in a set-up: each call ends in this error
  std::optional<TakeOver> take_over;  // of not_connected
  Lineage lineage;
  std::optional<Communicator> weft;     // of connected
  std::vector<int> members;             // likewise: its ranks, as ranks of the world
  std::unique_ptr<Races> races;         // likewise; null: weft serves all calls
  std::unique_ptr<InFlight> in_flight;  // likewise, where short calls may be left to the host
  NewSizes new_sizes;                   // likewise
  PutOff put_off;                       // likewise
  Meetings meetings;
  Trial trial;                     // by a component of the host, which it has still to serve
  PassedCounts* passed = nullptr;  // of its shape, from the first call that is passed through on
  SeldomAsked packs;               // whether some rank has to pack: the same on all of them
  SeldomAsked packs_irregular;     // the same in alltoallv, also in small ones
  Resolutions operations;
  Topology topology;
  Buffer packed_input, packed_output;
  CallLists lists;
  std::shared_ptr<PendingQueue> pending;      // calls that are not blocking; null before the first
  std::unique_ptr<InRecording> in_recording;  // where calls are recorded
};

/// What all ranks of a communicator know of a call.
struct SharedArguments {
  plan::Collective collective;
  std::optional<std::uint64_t> block_bytes;  // see TakeOver::count()
  /// Of an alltoallv; not shared: see TakeOver::count_irregular().
  std::optional<std::uint64_t> sent_bytes;
  /// Whether weft serves it from the first one of its size on.
  bool at_once;
  /// Whether ranks may wait for one another in it, to agree on something; see
  /// Communicators::may_agree().
  bool may_agree;
  /// Where they may not: the rank that all others wait for, as long as the call may become a
  /// meeting.
  std::optional<int> sender;
};

/// What belongs to communicators: an attribute on each, so that it is freed with it; or, in a
/// component of the host, part of the host's communicator. Safe from many threads; no lock is held
/// while ranks wait for one another.
class Communicators {
 public:
  /// `facts`: see World::start(); without them communicators are followed as they are made.
  Communicators(World& world, const HostFacts* facts);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  /// The attribute, or what a component has added. Null when the handle is not a communicator, or
  /// one that is being freed, whose attribute is gone.
  Attached* of(MPI_Comm comm);
  /// A component's own: made at its communicator's first call, removed when that ends. What is left
  /// at the end of the world goes with it.
  Attached* add(MPI_Comm comm);
  /// `at_once`: not in the middle of a call, on another communicator, from which the host's
  /// progress has come here: then the end of weft's part is left for later.
  void remove(Attached* removed, bool at_once = true);
  /// What belongs to a persistent collective of a communicator, whose starts come in another order
  /// than those of others on each rank: all that a communicator has, but for the host's. Ranks make
  /// them in one order.
  std::shared_ptr<Attached> add_persistent(Attached& of);
  /// When the collective will not be started any more.
  void remove_persistent(const std::shared_ptr<Attached>& attached);
  /// Of a communicator that is not connected: counts the call, and connects where the take-over
  /// rule is due or the collective is wanted at once, if ranks may agree in this call. Collective
  /// then, but by none of the host's collectives. Nothing: weft serves the call; else the
  /// reason why the host does. Without `may_wait` it neither waits for other ranks nor connects,
  /// and nothing says that this is not known: to be asked again with it, and nothing was counted.
  std::optional<Passed> connect(Attached& attached, SharedArguments& call, bool may_wait);

  /// Whether ranks may agree on something in this call: it says so, or it becomes a meeting to
  /// which all of them come. The same on all ranks. PeerError where one is lost.
  bool may_agree(Attached& attached, SharedArguments& call);
  /// Of a connected communicator: prepares and decides all that was put off. Collective.
  void agree_on_put_off(Attached& attached);

  /// Lets all ranks of a connected communicator learn what they have measured in a race. `what`
  /// names its calls, for a note. Collective.
  void decide(Attached& attached, Race& race, const std::string& what);
  /// The same of how many calls each has under way.
  void decide(Attached& attached, InFlight& in_flight);

  /// Where calls that are passed through are counted.
  PassedCounts& passed_of(Attached& attached);

  /// Passes all further calls on a connected communicator through. On all of its ranks alike.
  void give_up(Attached& attached, std::string why);

  // After the program has made `child` of `parent`; `child` may be null.
  /// By a call of all ranks of `parent`.
  void add_child(MPI_Comm parent, MPI_Comm child);
  /// By one that makes a distributed graph. Collective: ranks without edges may leave out its
  /// neighbourhood collectives, which others are to know.
  void add_graph(MPI_Comm parent, MPI_Comm child);
  /// By a call of the ranks of `child` alone (MPI_Comm_create_group).
  void add_child_of_group(MPI_Comm parent, MPI_Comm child, int tag);
  /// By MPI_Intercomm_merge.
  void add_merged(MPI_Comm child);
  /// Frees what belongs to communicators that still exist, and ends those that are ending: all
  /// ranks do. Waits for them, but not for long.
  void free_all();
  /// Adds the statistics of those that still exist to the tally, when nothing more will.
  void tally_live();

 private:
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* self);
  /// `persistent`: see Lineage.
  std::unique_ptr<Attached> attach(MPI_Comm comm, std::uint64_t persistent = 0);
  bool number(Attached& attached, std::span<const int> members);
  std::optional<std::vector<int>> members_that_meet(Attached& attached);
  bool is_due(Attached& attached, const SharedArguments& call);
  void agree_on_bytes(Attached& attached);
  void set_up(Attached& attached, const std::vector<int>& members);
  void open(Attached& attached, const std::vector<int>& members);
  void tally(const Attached& attached);
  void retire(Communicator weft, bool at_once = true);
  void end_persistent(Attached& attached);
  void end_retired();

  World& world_;
  const HostFacts* facts_;
  int keyval_ = MPI_KEYVAL_INVALID;
  std::mutex mutex_;
  std::map<MPI_Comm, Attached*> live_;
  std::set<std::shared_ptr<Attached>> persistents_;
  std::list<Communicator> retired_;  // freed by the program; other ranks may not have freed theirs
  std::map<std::uint64_t, std::uint64_t> merged_;   // communicators, by their group
  std::map<std::uint64_t, std::uint64_t> set_ups_;  // by the host's number and the group
};

}  // namespace weft::mpi
