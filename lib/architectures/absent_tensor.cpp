#include "architectures/absent_tensor.hpp"
#include <variant>

namespace trainx::architectures {

std::string meaning_of_absence(const ModelDims& dims, const std::string& parameter) {
  if (const auto* decoder = std::get_if<DecoderDims>(&dims);
      decoder && !decoder->tied && parameter.starts_with(decoder->names.head + "."))
    return "the folder holds a decoder without its head; train it with model.init_from, which "
           "begins a new head";
  return {};
}

std::string head_of_own(const ModelDims& dims) {
  const auto* d = std::get_if<Seq2SeqDims>(&dims);
  const bool is_open = d && d->head_is == Seq2SeqDims::Head::open && !d->lacks_head;
  return is_open ? d->head + ".weight" : "";
}

void tie_head(ModelDims& dims) { std::get<Seq2SeqDims>(dims).lacks_head = true; }

}  // namespace trainx::architectures
