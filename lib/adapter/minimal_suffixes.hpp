#pragma once
#include <string>
#include <vector>

namespace trainx::adapter {

/// From this number of targets on, PEFT looks for fewer that mean the same modules.
constexpr std::size_t targets_to_shorten = 20;

/// PEFT's _find_minimal_target_modules: the shortest suffixes that match `targets` and none of
/// `others`, sorted; the targets themselves if these are not fewer.
std::vector<std::string> minimal_suffixes(const std::vector<std::string>& targets,
                                          const std::vector<std::string>& others);

}  // namespace trainx::adapter
