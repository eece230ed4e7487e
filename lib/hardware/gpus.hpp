// The measured GPUs: a function each, in a file of its name.
#pragma once
#include "hardware/hardware.hpp"

namespace trainx::hardware {

Hardware h100();
Hardware h200();

}  // namespace trainx::hardware
