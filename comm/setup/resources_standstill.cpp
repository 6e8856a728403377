// What a rank tells others about where it is, and what it says when nothing goes on.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "comm/setup/resources.hpp"
#include "engine/board/report.hpp"
#include "engine/board/whereabouts.hpp"

namespace weft::comm {

namespace board = engine::board;

namespace {

// Of ranks on other nodes, as datagrams may be lost: so long, and again so often.
constexpr std::chrono::milliseconds kPatience{400};
constexpr std::chrono::milliseconds kAskAgain{40};
// At a time: a control path has few places to send from.
constexpr std::size_t kAtOnce = 8;

}  // namespace

/// From now on other processes see in which calls this rank is. `number`: the communicator's.
void Resources::show_rank(std::string_view number) {
  try {
    watch_ = StandstillWatch::shared(settings());
    if (watch_ && !watch_->why_no_signal().empty()) members_.note(watch_->why_no_signal());
  } catch (const std::exception& refused) {
    members_.note(fmt::format("nothing says why ranks stand still: {}", refused.what()));
  }
  std::uint64_t communicator = 0;
  std::memcpy(&communicator, number.data(), std::min(number.size(), sizeof communicator));
  std::vector<engine::board::Poster::Neighbour> members;
  for (int place = 0; node_ && place < node_->places(); ++place) {
    members.push_back({node_->rank_at(place), node_->process_of(place)});
  }
  executor_->poster().show(communicator, rank(), size(), machine().node_of(rank()), members);
}

/// What the liveness responders of other nodes say about ranks there: of all, where these are not
/// many, else of those that ranks here wait for, that these wait for, and so on.
std::vector<board::Whereabouts> Resources::ask_other_nodes(const board::SeenCommunicator& seen) {
  using Clock = std::chrono::steady_clock;
  std::set<int> known, wanted;
  for (const board::SeenRank& rank : seen.ranks) known.insert(rank.rank);
  const auto want = [&](int rank) {
    if (rank >= 0 && rank < size() && !known.contains(rank)) wanted.insert(rank);
  };
  const bool are_few = static_cast<std::size_t>(size()) <= known.size() + board::kAnswers;
  for (int rank = 0; are_few && rank < size(); ++rank) want(rank);
  for (const board::SeenRank& rank : seen.ranks) {
    for (const board::SeenWait& wait : rank.waits) want(wait.peer);
  }
  std::vector<board::Whereabouts> answers;
  const std::uint64_t communicator = executor_->poster().communicator();
  const auto deadline = Clock::now() + kPatience;
  auto next = Clock::now();
  while (!wanted.empty() && answers.size() < board::kAnswers && Clock::now() < deadline &&
         links_->open_device() != nullptr) {
    if (Clock::now() >= next) {
      next = Clock::now() + kAskAgain;
      std::size_t asked = 0;
      for (const int rank : wanted) {
        const auto question = board::question_of(communicator, rank);
        const auto there = machine().ranks_on(machine().node_of(rank));
        const bool is_asked =
            std::ranges::any_of(there, [&](int via) { return links_->ask(via, question); });
        if (is_asked && ++asked == kAtOnce) break;
      }
      if (asked == 0) break;
    }
    links_->poll_device();
    for (const board::Whereabouts& answer : links_->open_device()->take_answers()) {
      const auto rank = board::rank_from(answer, communicator);
      if (!rank || wanted.erase(rank->rank) == 0) continue;
      known.insert(rank->rank);
      answers.push_back(answer);
      for (const board::SeenWait& wait : rank->waits) want(wait.peer);
      next = Clock::now();
    }
  }
  return answers;
}

/// This communicator as its node shows it.
board::SeenCommunicator Resources::look_around() const {
  const auto processes = board::with_neighbours();
  for (board::SeenCommunicator& seen : board::look(processes)) {
    if (seen.number == executor_->poster().communicator()) return std::move(seen);
  }
  return {executor_->poster().communicator(), size(), {}};
}

/// For other processes, which read them in this rank's posting; and for its own report. Without
/// memory or descriptors there are none: that is no error of the call.
void Resources::answer_about_other_nodes() noexcept {
  try {
    executor_->poster().answer(ask_other_nodes(look_around()));
  } catch (const std::exception&) {
    executor_->poster().answer({});
  }
}

/// To standard error, in one piece.
void Resources::report_standstill() noexcept {
  answer_about_other_nodes();
  try {
    const board::SeenCommunicator seen = look_around();
    const std::string text = board::to_text(seen, board::judge(seen));
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  } catch (const std::exception&) {
    // The line of the error is all that there is.
  }
}

}  // namespace weft::comm
