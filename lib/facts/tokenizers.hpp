#pragma once
#include "facts/facts.hpp"

namespace trainx::facts {

/// Adds what the tokenizers of the data and of the model's folder say: the vocabulary's size, and
/// ids for masks. Throws UserError 78 where the two have other tokens for the same ids.
void look_at_tokenizers(const recipe::Recipe& recipe, Facts& facts);

}  // namespace trainx::facts
