#pragma once
#include <string>

namespace trainx::facts {

/// Where the system tells about itself. Tests give folders of their own.
struct Roots {
  std::string proc = "/proc", sys = "/sys", dev = "/dev";
};

}  // namespace trainx::facts
