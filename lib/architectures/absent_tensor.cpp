#include "architectures/absent_tensor.hpp"
#include <variant>

namespace trainx::architectures {

std::string meaning_of_absence(const ModelDims& dims, const std::string& parameter) {
  const auto* d = std::get_if<Seq2SeqDims>(&dims);
  if (!d || d->tied || parameter != d->head + ".weight") return {};
  // transformers ties the two then, without the scale of a tied head
  return "config.json describes a head of its own, where transformers would train one tensor as "
         "embedding and head; save a copy of '" +
         d->embedding + ".weight' under the missing name to train a head of its own from it";
}

}  // namespace trainx::architectures
