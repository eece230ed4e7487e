#pragma once
#include <string>

namespace trainx::plan {

/// 0.125: "12.5 %".
std::string percent(double ratio);

}  // namespace trainx::plan
