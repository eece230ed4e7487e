// What a process without memory is told.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace trainx {

/// Bytes that this process, and those that it starts, may take by its limits (ulimit -v, -d);
/// nothing where there are none.
std::optional<std::int64_t> memory_limit();

/// True where this process has such a limit and lacks the room below it for one more arena of
/// malloc (64 MiB), or has lacked it: others may have freed memory since a library got none. Asks
/// the kernel alone: a signal handler may call it.
bool limit_is_reached() noexcept;

/// "the machine has no memory left", or that the limit is reached, and how to raise it. For exit
/// code 71.
std::string no_memory_sentence();

}  // namespace trainx
