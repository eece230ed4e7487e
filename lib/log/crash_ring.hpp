// The last debug lines of a process that crashes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace trainx::log {

constexpr std::size_t ring_lines = 1000, ring_line_bytes = 256;  // longer lines are cut

/// One writer at a time.
void keep_in_ring(std::string_view line);

/// On SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and an uncaught exception the ring is appended to
/// the crash file, then the process ends by the same signal. Where a limit of memory is reached
/// (limit_is_reached), SIGSEGV and SIGABRT are how libraries end that get none: stderr gets one
/// sentence, and the process ends with 71. The handler makes system calls only.
void install_crash_handlers();
/// Where the ring goes; empty: nowhere. Threads must not crash meanwhile.
void set_crash_file(const std::string& path);
/// Appends the ring to the crash file, below a line with `reason`. False without a file.
bool write_ring(std::string_view reason) noexcept;

}  // namespace trainx::log
