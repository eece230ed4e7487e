// Slurm's short forms of lists.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trainx::launch {

/// "a[01-03,07],b2,c[1-2]-[5-6]" -> a01 a02 a03 a07 b2 c1-5 c1-6 c2-5 c2-6: numbers keep the width
/// of their range's first, later brackets run fastest. Empty where the text is no such list, or one
/// of more than 65536 hosts.
std::vector<std::string> expand_host_list(std::string_view text);

/// "2(x3),1" -> 2 2 2 1. Empty where the text is no such list.
std::vector<int> expand_task_counts(std::string_view text);

}  // namespace trainx::launch
