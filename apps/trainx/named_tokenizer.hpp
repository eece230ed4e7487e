#pragma once
#include "context.hpp"
#include "tokenizer/tokenizer.hpp"

namespace trainx::app {

/// The tokenizer that --tokenizer names: a folder, a file, or an id of the Hugging Face hub that
/// its local cache has, which is said. Throws UserError: 66, 65.
std::unique_ptr<tokenizer::Tokenizer> open_named_tokenizer(const std::string& name,
                                                           const Context& context);

}  // namespace trainx::app
