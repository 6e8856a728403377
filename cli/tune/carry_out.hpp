// Carrying out of a tuning: its run, and the files and the text that come of it.
#pragma once

#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/tune/tune_options.hpp"
#include "tune/decision_table.hpp"

namespace weft::cli {

/// `text`: gives what people read, after the run. An Exit.
template <class Tuning, class GiveText>
int carry_out(Tuning& tuning, const TuneOptions& options, GiveText text) {
  OutputFile table(options.table), page(options.html);
  page.open();
  tuning.run();
  table.open();  // here, so that a tuning that is ended leaves the old table as it was
  table.write(to_json(tuning.table()));
  if (options.html) page.write(to_html(tuning.page()));
  if (options.json) {
    print_json(tuning.to_json_form());
  } else {
    print(text());
  }
  return kHolds;
}

}  // namespace weft::cli
