#include "train/memory_error_observer.hpp"
#include "core/error.hpp"
#include "metrics/run_files.hpp"
#include <utility>

namespace trainx::train {

MemoryErrorObserver::MemoryErrorObserver(const TrainingParts& parts, metrics::Console& console,
                                         std::string run_info)
    : parts_(parts),
      console_(console),
      run_info_(std::move(run_info)),
      watch_("the GPU (" + parts.device->name() + ")") {}

void MemoryErrorObserver::look() {
  const MemoryErrors now = parts_.device->memory_errors();
  if (!now.known()) return;
  for (const std::string& sentence : watch_.news(now)) console_.warning(sentence);
  if (run_info_.empty() || now == written_) return;
  try {
    metrics::write_memory_errors(run_info_, watch_.begin(), now);
    written_ = now;
  } catch (const UserError& e) { console_.warning(e.what()); }  // a full disk ends no run
}

}  // namespace trainx::train
