// The parameter groups of GPT-2, in the order of Gpt2Groups.
#pragma once
#include "spec/arch/gpt2.hpp"

namespace trainx::spec {

std::vector<program::GroupSpec> gpt2_groups(const Gpt2Dims& dims);

/// The parameter that a tensor of a Hugging Face file is ("transformer." before it or not); empty
/// for what such files hold besides: causal masks (attn.bias, attn.masked_bias) and the copy of the
/// tied embedding (lm_head.weight).
std::string gpt2_parameter_name(std::string_view saved_name);

}  // namespace trainx::spec
