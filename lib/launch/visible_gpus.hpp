#pragma once
#include <string_view>

namespace trainx::launch {

/// How many of a host's GPUs a program sees under CUDA_VISIBLE_DEVICES, as CUDA counts: names up to
/// the first that is none. Not set at all: every one.
int visible_gpus(int installed, bool set, std::string_view cuda_visible_devices);

}  // namespace trainx::launch
