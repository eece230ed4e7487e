#pragma once
#include "plan/programs.hpp"
#include <map>
#include <string>

namespace net {

/// By heading: "programs", "buffers", "placement", "order", "launches".
std::map<std::string, std::string> program_texts(const trainx::plan::PlacedProgram& placed);

}  // namespace net
