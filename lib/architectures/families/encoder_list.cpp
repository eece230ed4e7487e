#include "core/error.hpp"
#include "architectures/families/encoder_family.hpp"
#include <algorithm>

namespace trainx::architectures {

const std::vector<EncoderFamily>& encoder_families() {
  static const std::vector<EncoderFamily> all = [] {
    std::vector<EncoderFamily> out;
    for (auto list : {bert_families, roberta_families, distilbert_families, electra_families,
                      modernbert_families})
      std::ranges::move(list(), std::back_inserter(out));
    return out;
  }();
  return all;
}

const EncoderFamily& encoder_family(std::string_view name) {
  const auto found = std::ranges::find(encoder_families(), name, &EncoderFamily::name);
  if (found == encoder_families().end())
    throw InternalError("no family of encoders is called " + std::string(name));
  return *found;
}

}  // namespace trainx::architectures
