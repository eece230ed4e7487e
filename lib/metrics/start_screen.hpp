#pragma once
#include <string>
#include <vector>

namespace trainx::metrics {

/// A resolved setting and where it came from: "default", "planned", or the user's file or command
/// line.
struct Setting {
  std::string key, value, origin;
};

/// A line about the run: "memory", "260 MiB planned of 24 GiB".
struct StartRow {
  std::string name, value;
};

/// What is shown when a run starts, without its last line end: title, rows, the settings that the
/// user made and those that were planned. At most 20 lines of 80 columns; what has no room is
/// counted.
std::string start_screen(const std::string& title, const std::vector<StartRow>& rows,
                         const std::vector<Setting>& settings);

}  // namespace trainx::metrics
