#include "launch/stderr_writer.hpp"
#include "core/process.hpp"
#include <unistd.h>
#include <cstdint>
#include <string>

namespace trainx::launch {
namespace {

std::string left_out(std::int64_t lines) {
  return "(" + std::to_string(lines) +
         " lines are left out here: stderr was not read; the ranks' log files have them)\n";
}

}  // namespace

StderrWriter::StderrWriter() : queue_(STDERR_FILENO, std::size_t{16} << 20, left_out) {
  const std::string terminal = environment_variable("TERM");
  live_ = ::isatty(STDERR_FILENO) == 1 && !terminal.empty() && terminal != "dumb";
}

void StderrWriter::put(std::string_view line) {
  // Rank 0 draws its status line at the cursor's line, again and again: cleared first, it comes
  // back below.
  queue_.put((live_ ? "\r\033[K" : "") + std::string(line) + "\n");
}

}  // namespace trainx::launch
