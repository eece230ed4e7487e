#pragma once
#include "tokenizer/normalizer.hpp"

namespace trainx::tokenizer {

/// Precompiled: SentencePiece's own normalisation (nmt_nfkc and its like), a table in the file.
std::unique_ptr<Normalizer> make_precompiled(const Component& component);

}  // namespace trainx::tokenizer
