#pragma once
#include "architectures/architecture.hpp"
#include "options/data/options.hpp"
#include <map>
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::worker {

/// The tokens that end a text as a model's folder says: eos_token_id (one or several) of
/// generation_config.json, else of config.json. Ids beyond `vocab_size` are left out: transformers
/// writes GPT-2's 50256 for models of any size.
std::vector<std::int32_t> end_of_text_of(const std::string& folder, std::int64_t vocab_size);

/// The first token that a folder's model writes, and the last of as many as are asked for:
/// forced_bos_token_id and forced_eos_token_id (one or several) of generation_config.json, or of
/// config.json where there is no such file. Throws UserError 65 for what is no id below
/// `vocab_size`.
struct ForcedTokens {
  std::vector<std::int32_t> first, last;
};
ForcedTokens forced_tokens_of(const std::string& folder, std::int64_t vocab_size);

/// The files that checkpoints carry, and for a model that continues text a generation_config.json
/// with the token that ends a document in all of its training data, unless one is among them:
/// Hugging Face's generate then stops there.
std::map<std::string, std::string> with_end_of_text(std::map<std::string, std::string> files,
                                                    const options::DataOptions& options,
                                                    const architectures::ModelDims& dims);

}  // namespace trainx::worker
