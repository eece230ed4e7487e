#include "corpus/sample_line.hpp"
#include "corpus/json_numbers.hpp"
#include <algorithm>

namespace trainx::corpus {
void append_sample_line(const tokenizer::Encoding& sample, std::optional<std::int64_t> label,
                        std::string& out) {
  out += "{\"input_ids\": ";
  append_list(std::span(sample.ids), out);
  if (std::ranges::any_of(sample.type_ids, [](std::int32_t t) { return t != 0; })) {
    out += ", \"token_type_ids\": ";
    append_list(std::span(sample.type_ids), out);
  }
  if (label) {
    out += ", \"label\": ";
    append_number(*label, out);
  }
  out += "}\n";
}

}  // namespace trainx::corpus
