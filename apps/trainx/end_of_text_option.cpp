#include "end_of_text_option.hpp"
#include "core/error.hpp"
#include "corpus/documents.hpp"

namespace trainx::app {

std::optional<std::int32_t> named_end_of_text(const std::string& command, const std::string& path,
                                              const std::string& token,
                                              const tokenizer::Tokenizer* tokenizer) {
  if (token.empty()) return std::nullopt;
  if (corpus::is_labelled_lines(path))
    throw UserError(ExitCode::usage, command + ": --end-of-text can have no effect on " + path +
                                         ", of which each line is a document: leave it out");
  if (corpus::has_document_index(path))
    throw UserError(ExitCode::usage, command + ": --end-of-text can have no effect on " + path +
                                         ", whose index says where documents begin: leave it out");
  if (!tokenizer)
    throw UserError(ExitCode::usage,
                    command + ": --end-of-text names a token of a tokenizer: --tokenizer FOLDER");
  const std::int32_t id = tokenizer->id_of(token);
  if (id < 0)
    throw UserError(ExitCode::usage, command + ": --end-of-text '" + token + "' is no token of " +
                                         tokenizer->path());
  return id;
}

}  // namespace trainx::app
