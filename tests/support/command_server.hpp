// Commands of trainx as forks of this process.
#pragma once

namespace trainx::tests {

/// main() of a process that forks for each command. With arguments it is `trainx ARGUMENTS...`
/// itself, because some commands start their own program again.
/// Each line of stdin is {"words": [...], "folder": "...", "environment": {...}, "input": "...",
/// "seconds": N, "processor_s": N, "memory_bytes": N}; all from "input", the command's stdin, may
/// be left out. A command that takes longer than "seconds" is killed; the last two are limits of
/// the system. Each line of stdout answers one:
/// {"code": N, "out": "...", "err": "...", "processor_s": N, "memory_bytes": N}. A code below 0 is
/// a signal.
int serve_commands(int argc, char** argv);

}  // namespace trainx::tests
