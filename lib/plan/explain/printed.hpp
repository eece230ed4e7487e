#pragma once
#include <cstdio>
#include <string>

namespace trainx::plan {

/// The number as printf's pattern, which has one place for a double, writes it.
inline std::string printed(const char* pattern, double x) {
  char out[64];
  std::snprintf(out, sizeof out, pattern, x);
  return out;
}

}  // namespace trainx::plan
