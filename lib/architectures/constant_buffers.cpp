#include "architectures/constant_buffers.hpp"
#include <algorithm>
#include <array>

namespace trainx::architectures {
namespace {

using namespace std::string_view_literals;

// Whole parts of a name, from its end. A `bias` below attention is the mask of a model whose
// products have biases of their own.
constexpr std::array ends{"attn.bias"sv,
                          "attn.masked_bias"sv,
                          "attention.bias"sv,
                          "attention.masked_bias"sv,
                          "crossattention.bias"sv,
                          "crossattention.masked_bias"sv,
                          "causal_mask"sv,
                          "inv_freq"sv,
                          "original_inv_freq"sv,
                          "rotary_emb.cos_cached"sv,
                          "rotary_emb.sin_cached"sv,
                          "rope.freqs"sv,
                          "position_ids"sv,
                          "embeddings.token_type_ids"sv,
                          "encoder.version"sv,
                          "decoder.version"sv};

}  // namespace

bool is_constant_buffer(std::string_view saved_name) {
  return std::ranges::any_of(ends, [&](std::string_view end) {
    if (!saved_name.ends_with(end)) return false;
    const std::size_t before = saved_name.size() - end.size();
    return before == 0 || saved_name[before - 1] == '.';
  });
}

}  // namespace trainx::architectures
