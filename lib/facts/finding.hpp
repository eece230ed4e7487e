#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::facts {

/// Something that is wrong with this machine, and what mends it.
struct Finding {
  enum class Weight : std::uint8_t {
    warning,  // training works, slower or at a risk
    error,    // training cannot work
  };
  Weight weight = Weight::warning;
  std::string problem, remedy;  // "finding: <problem>; <remedy>"
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

}  // namespace trainx::facts
