// Rows of tokens that a folder's vocabulary lacks.
#pragma once
#include "program/model_graph.hpp"
#include <cstdint>
#include <vector>

namespace trainx::state {

/// `saved` holds the first `tokens` rows of the parameter p (of a bias: elements). Appends rows up
/// to p.saved_dims: the mean of the rows plus normal noise with 1e-9 of the columns' variances,
/// drawn from the seed, as resize_token_embeddings of transformers begins them; zeros for a bias
/// that is not trained (p.may_be_absent).
void append_new_tokens(const program::ParameterSpec& p, std::int64_t tokens, std::uint64_t seed,
                       std::vector<float>& saved);

}  // namespace trainx::state
