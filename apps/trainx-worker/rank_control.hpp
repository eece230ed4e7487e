#pragma once
#include "comm/control.hpp"
#include <memory>

namespace trainx::worker {

/// Meets the run's other ranks: returns when all have arrived with the same trainx and `plan`. When
/// another rank fails later, this process ends soon, with that rank's sentence. The rest of
/// `options` is the caller's. Throws what Control::join does.
std::unique_ptr<comm::Control> meet_ranks(const comm::Membership& membership,
                                          const std::string& plan, comm::ControlOptions options);

}  // namespace trainx::worker
