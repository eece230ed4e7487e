// How soon a thread that wakes up gets a core which others compute on.
#pragma once

namespace trainx {

/// Asks the kernel for the shortest time slices, for this thread and those it starts later. Threads
/// that compute together often wait a moment for each other; one that wakes up then takes the core
/// from a process that merely computes, instead of waiting for the end of its slice. The share of
/// the cores, the policy and the nice value stay. Linux 6.12 and later; no effect before, under
/// real-time policies, or where it is not allowed.
void ask_for_short_slices() noexcept;

}  // namespace trainx
