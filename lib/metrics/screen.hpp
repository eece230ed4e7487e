#pragma once
#include <functional>
#include <string_view>

namespace trainx::metrics {

/// Where a console writes. Tests put strings and a clock of their own here.
struct Screen {
  std::function<void(std::string_view)> out, err;  // data; messages
  // messages go to a terminal whose last line can be rewritten
  bool live = false;
  std::function<int()> columns;     // its width now, which the user may change
  std::function<double()> seconds;  // monotonic clock
};

/// This process's stdout, and a descriptor for messages, by default stderr.
Screen process_screen(int messages = 2);

}  // namespace trainx::metrics
