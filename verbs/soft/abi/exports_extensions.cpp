#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/soft/abi/export.hpp"
#include "verbs/soft/abi/extensions.h"
#include "verbs/soft/process/process.hpp"
#include "verbs/soft/process/verb.hpp"

namespace soft = weft::soft;

WEFT_VERB int weft_soft_inject(const char* faults) {
  return soft::run_verb([&] {
    if (faults == nullptr) throw soft::VerbError(EINVAL);
    try {
      soft::FaultPlan plan = soft::parse_faults("weft_soft_inject", faults);
      soft::Process& process = soft::Process::instance();
      process.faults.replace(process, std::move(plan));
    } catch (const weft::UsageError& error) {
      weft::log::write(weft::log::Level::error, error.what());
      throw soft::VerbError(EINVAL);
    }
  });
}
