#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr Unmapped peft_table[]{
    {"base_model_name_or_path", "", names_model},
    {"revision", "*", ""},
    {"auto_mapping", "*", ""},
    {"peft_version", "*", ""},
    {"inference_mode", "*", ""},
    {"task_type", "*", ""},
    {"fan_in_fan_out", "*", ""},  // how weights are stored
    {"megatron_core", "*", ""},
    {"qalora_group_size", "*", ""},
    {"loftq_config*", "*", ""},  // act with init_lora_weights
    {"eva_config*", "*", ""},
    {"corda_config*", "*", ""},
    {"lora_ga_config*", "*", ""},
    {"runtime_config*", "*", ""},
    {"layers_pattern", "", "layers are counted by the first number in a module's name"},
    {"init_lora_weights", "true", "A is drawn uniformly, and B is 0", true},
    {"bias", "none", "biases of adapted modules stay as they are", true},
    {"lora_bias", "false", no_variant, true},
    {"use_qalora", "false", no_variant, true},
    {"layer_replication", "", no_variant, true},
    {"megatron_config*", "", no_variant, true},
    {"alora_invocation_tokens", "", no_variant, true},
    {"monteclora_config*", "", no_variant, true},
    {"velora_config*", "", no_variant, true},
    {"use_bdlora*", "", no_variant, true},
    {"arrow_config*", "", no_variant, true},
    {"kasa_config*", "", no_variant, true},
};

}  // namespace

std::span<const Unmapped> peft_unmapped() { return peft_table; }

}  // namespace trainx::imports
