#pragma once
#include <sys/types.h>
#include <optional>
#include <string>

namespace trainx {

/// ".plan.json.partial-1234": what this process has not finished writing or removing.
std::string partial_name(const std::string& name);

struct PartialName {
  std::string of;  // "plan.json"
  pid_t writer;
};
/// Of exactly such a name, or one with more behind its number and a hyphen.
std::optional<PartialName> partial_from(const std::string& name);

/// Removes the files that processes which are no more left half written in a folder; other entries
/// stay, folders too. What cannot be listed or removed stays as well.
void remove_partial_files(const std::string& folder);

}  // namespace trainx
