// Files of an adapter, as PEFT calls them.
#pragma once

namespace trainx::checkpoint {

constexpr const char* adapter_config_name = "adapter_config.json";
constexpr const char* adapter_weights_name = "adapter_model.safetensors";

}  // namespace trainx::checkpoint
