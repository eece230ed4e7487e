// config.json of a Hugging Face GPT-2 folder.
#pragma once
#include "spec/arch/gpt2.hpp"

namespace trainx::spec {

/// Dimensions in the text of `path`. Throws UserError 65 naming the key: malformed JSON, another architecture, missing or impossible dimensions, and
/// settings that trainx does not compute (another activation, scale_attn_by_inverse_layer_idx, ...). Dropout is a setting of a training run, not of
/// its weights: the file's probabilities are not read, `dropout` is 0.
Gpt2Dims gpt2_dims_from_config(const std::string& text, const std::string& path);
/// What transformers loads as GPT2LMHeadModel; weights are saved in `saved` (torch_dtype).
std::string gpt2_config_text(const Gpt2Dims& dims, DType saved);

}  // namespace trainx::spec
