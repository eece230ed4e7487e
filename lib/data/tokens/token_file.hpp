#pragma once
#include "data/mapped_file.hpp"
#include "data/source.hpp"

namespace trainx::data::tokens {

/// Token files, each cut into samples by itself: sample i is tokens[i*T : i*T+T+1]. `options` say
/// how they are read.
std::vector<std::unique_ptr<Source>> open_tokens(const options::TokensOptions& options,
                                                 const std::vector<std::string>& paths,
                                                 const SourceOptions& how);
std::vector<std::unique_ptr<Source>> open_tokens(const options::TokensOptions& options,
                                                 std::vector<MappedFile> files,
                                                 const SourceOptions& how);

}  // namespace trainx::data::tokens
