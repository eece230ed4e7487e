#pragma once
#include "data/source.hpp"

namespace trainx::data::tokens {

/// A token file: sample i is tokens[i*T : i*T+T+1]. Null where the split names no file.
std::unique_ptr<Source> open_tokens(const spec::TokensOptions& options, Split split, const SourceOptions& how);

}  // namespace trainx::data::tokens
