// System calls that signals interrupt.
#pragma once
#include <cerrno>

namespace trainx {

/// Makes the call again as often as a signal interrupts it. Of open, fsync and their like on
/// network file systems; close is never made twice.
template <class Call>
auto restarted(Call&& call) {
  for (;;)
    if (const auto answer = call(); answer >= 0 || errno != EINTR) return answer;
}

}  // namespace trainx
