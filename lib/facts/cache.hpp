// What was expensive to find out, kept in $XDG_CACHE_HOME/trainx or ~/.cache/trainx. Files that
// cannot be read or written are no problem.
#pragma once
#include <functional>
#include <string>

namespace trainx::facts {

/// Where it is kept; empty where there is no such folder.
std::string cache_folder();

/// What `find` says to a question, kept in the file `name` of the cache beside the answers to some
/// others about the same thing. `state` is what the answers hold for: those of another state are
/// dropped.
std::string remembered_answer(const std::string& name, const std::string& state,
                              const std::string& question,
                              const std::function<std::string()>& find);

}  // namespace trainx::facts
