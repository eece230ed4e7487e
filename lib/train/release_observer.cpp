#include "train/release_observer.hpp"
#include "core/process_memory.hpp"
#include "core/units.hpp"
#include <algorithm>
#include <malloc.h>

namespace trainx::train {

std::int64_t release_caches() {
  const std::int64_t before = resident_bytes();
  malloc_trim(0);
  return std::max<std::int64_t>(0, before - resident_bytes());
}

void ReleaseObserver::on_step_end(TrainState& state, const FinishedStep&, bool) {
  if (!every_.due(state)) return;
  every_.acted(state);
  constexpr std::int64_t worth_telling = std::int64_t{1} << 20;
  if (const std::int64_t released = release_caches(); released >= worth_telling)
    console_.message("step " + std::to_string(state.step) + ": gave " + human_bytes(released) +
                     " that libraries kept back to the system");
}

}  // namespace trainx::train
