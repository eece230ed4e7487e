#pragma once
#include <cstdint>
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
  // At the end: gives slow readers two seconds more. Returns the lines of data that are lost.
  std::function<std::int64_t()> finish = [] { return std::int64_t{0}; };
};

/// This process's stdout, and a descriptor for messages, by default stderr. Neither waits for a
/// reader: of messages the newest mebibyte waits for one, of data the newest 16; a line says how
/// many were left out, of data {"event":"left_out","lines":n}.
Screen process_screen(int messages = 2);

}  // namespace trainx::metrics
