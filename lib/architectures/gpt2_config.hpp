// config.json of a Hugging Face GPT-2 folder.
#pragma once
#include "architectures/gpt2.hpp"

namespace trainx::architectures {

/// Dimensions in the text of `path`. Throws UserError 65 naming the key: malformed JSON, another
/// architecture, missing or impossible dimensions, and settings that trainx does not compute
/// (another activation, scale_attn_by_inverse_layer_idx, ...). `dropout` is resid_pdrop.
Gpt2Dims gpt2_dims_from_config(const std::string& text, const std::string& path);
/// What the file asks of dropout beyond Gpt2Dims::dropout, a sentence each. `dropout`: what is
/// trained with; sentences about a choice of the user's are left out.
std::vector<std::string> gpt2_dropout_remarks(const std::string& text, const std::string& path,
                                              double dropout);
/// What transformers loads as GPT2LMHeadModel; weights are saved in `saved` (torch_dtype).
std::string gpt2_config_text(const Gpt2Dims& dims, DType saved);

/// The parameter that a tensor of a Hugging Face file is ("transformer." before it or not); empty
/// for what such files hold besides: causal masks (attn.bias, attn.masked_bias) and the copy of the
/// tied embedding (lm_head.weight).
std::string gpt2_parameter_name(std::string_view saved_name);

}  // namespace trainx::architectures
