#include "named_tokenizer.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"

namespace trainx::app {

std::unique_ptr<tokenizer::Tokenizer> open_named_tokenizer(const std::string& name,
                                                           const Context& context) {
  auto tokenizer = tokenizer::open_tokenizer(name);
  const auto snapshot = hub_snapshot_of(folder_of(tokenizer->path()));
  if (snapshot && snapshot->id == name)
    say(context, "tokenizer: " + describe(*snapshot) + ": " + tokenizer->path());
  return tokenizer;
}

}  // namespace trainx::app
