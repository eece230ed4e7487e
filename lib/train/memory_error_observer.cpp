#include "train/memory_error_observer.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "metrics/run_files.hpp"
#include <string>

namespace trainx::train {

MemoryErrorObserver::MemoryErrorObserver(const TrainingParts& parts, metrics::Console& console,
                                         RunFolder* folder)
    : parts_(parts),
      console_(console),
      folder_(folder),
      watch_("the GPU (" + parts.device->name() + ")") {}

void MemoryErrorObserver::look() {
  const MemoryErrors now = parts_.device->memory_errors();
  if (!now.known()) return;
  for (const std::string& sentence : watch_.news(now)) console_.warning(sentence);
  if (!folder_ || now == written_ || !folder_->is_there()) return;
  try {
    const std::string run_info = read_file(folder_->file("run.json"));
    folder_->write("run.json", metrics::with_memory_errors(run_info, watch_.begin(), now));
    written_ = now;
  } catch (const UserError& e) { console_.warning(e.what()); }  // a full disk ends no run
}

}  // namespace trainx::train
