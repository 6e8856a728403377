#include "device_measurements/core_watch.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/node/doorbell.hpp"

namespace weft::device_measurements {

namespace {

double ns_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
}

/// The number of the core that a line of /proc/stat is about; -1: all; -2: another line.
int core_of(const std::string& word) {
  if (!word.starts_with("cpu")) return -2;
  if (word.size() == 3) return -1;
  int number = -2;
  std::from_chars(word.data() + 3, word.data() + word.size(), number);
  return number;
}

}  // namespace

double tick_ns() {
  return 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void CoreWatch::look_at_thread(Look& look) {
  look.now_ns = engine::now_ns();
  double ran_ns = 0;
  std::ifstream("/proc/thread-self/schedstat") >> ran_ns >> look.waited_ns;
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) {
    look.preempted = static_cast<double>(usage.ru_nivcsw);
  }
}

void CoreWatch::look_at_machine(Look& look, const cpu_set_t& cores) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    look.ran_user_ns = ns_of(usage.ru_utime);
    look.ran_ns = look.ran_user_ns + ns_of(usage.ru_stime);
  }
  const bool all = CPU_COUNT(&cores) == 0;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> stolen;
    const int core = core_of(name);
    if (core == -2) break;
    if (core == -1 || (!all && (core >= CPU_SETSIZE || !CPU_ISSET(core, &cores)))) continue;
    look.all_user_ns += (user + nice) * tick_ns();
    look.all_ns += (user + nice + system) * tick_ns();
    look.stolen_ns += stolen * tick_ns();
    ++look.cores;
  }
}

void CoreWatch::begin() {
  begin_ = {};
  look_at_thread(begin_);
}

CoreTimes CoreWatch::end(const cpu_set_t& cores) {
  Look now;
  look_at_thread(now);
  look_at_machine(now, cores);
  CoreTimes times;
  times.process = ::getpid();
  times.cores = now.cores;
  times.task_ns = static_cast<double>(now.now_ns - begin_.now_ns);
  times.waited_ns = now.waited_ns - begin_.waited_ns;
  times.preempted = now.preempted - begin_.preempted;
  if (end_.now_ns != 0 && CPU_EQUAL(&cores_, &cores)) {
    times.window_ns = static_cast<double>(now.now_ns - end_.now_ns);
    times.ran_ns = now.ran_ns - end_.ran_ns;
    times.ran_user_ns = now.ran_user_ns - end_.ran_user_ns;
    times.all_ns = now.all_ns - end_.all_ns;
    times.all_user_ns = now.all_user_ns - end_.all_user_ns;
    times.stolen_ns = now.stolen_ns - end_.stolen_ns;
  }
  end_ = now;
  cores_ = cores;
  return times;
}

}  // namespace weft::device_measurements
