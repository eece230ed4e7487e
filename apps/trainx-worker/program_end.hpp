#pragma once

namespace trainx::worker {

class OwnLoop;

/// Where a program ends, on the thread that calls this, before `loop` was closed: an exception that
/// nobody catches ends the run as failed, and the process with its exit code; exit() ends both at
/// once, with a sentence.
void watch_program_end(OwnLoop& loop);
/// The loop was closed: `exit_code` is also what the process ends with if its main returns 0.
void program_ends_with(int exit_code);

}  // namespace trainx::worker
