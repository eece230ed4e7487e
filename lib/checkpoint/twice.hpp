#pragma once
#include "core/error.hpp"

namespace trainx::checkpoint {

/// What `act` returns. Where the file system fails it is done once more: disks behind a network
/// fail for a moment, and weights that are not saved now are gone with the next step. Throws as
/// `act`.
template <class Act>
auto twice(const Act& act) {
  try {
    return act();
  } catch (const UserError& e) {
    if (e.code() != ExitCode::io_error) throw;
  }
  return act();
}

}  // namespace trainx::checkpoint
