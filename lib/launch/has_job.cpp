#include "launch/has_job.hpp"
#include <fcntl.h>

namespace trainx::launch {

// start_worker hands a job over in sealed memory, which no shell or library leaves there.
bool has_job() {
  constexpr int sealed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  return ::fcntl(3, F_GET_SEALS) == sealed;
}

}  // namespace trainx::launch
