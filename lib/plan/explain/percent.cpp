#include "plan/explain/percent.hpp"
#include <cstdio>

namespace trainx::plan {

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

}  // namespace trainx::plan
