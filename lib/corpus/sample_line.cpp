#include "corpus/sample_line.hpp"
#include "corpus/json_numbers.hpp"
#include "corpus/masked_sample.hpp"
#include <algorithm>

namespace trainx::corpus {
namespace {

void append_label(const std::optional<nlohmann::json>& label, std::string& out) {
  if (!label) return;
  out += label->is_array() ? ", \"labels\": " : ", \"label\": ";
  out += label->dump();
}

}  // namespace

void append_sample_line(const tokenizer::Encoding& sample,
                        const std::optional<nlohmann::json>& label, std::string& out) {
  out += "{\"input_ids\": ";
  append_list(std::span(sample.ids), out);
  if (std::ranges::any_of(sample.type_ids, [](std::int32_t t) { return t != 0; })) {
    out += ", \"token_type_ids\": ";
    append_list(std::span(sample.type_ids), out);
  }
  append_label(label, out);
  out += "}\n";
}

void append_sample_line(const data::labelled::Line& sample,
                        const std::optional<nlohmann::json>& label, std::string& out) {
  using data::labelled::FieldName;
  out += "{\"input_ids\": ";
  append_list(std::span<const std::int64_t>(sample[FieldName::input_ids].values), out);
  for (const FieldName name : {FieldName::token_type_ids, FieldName::labels}) {
    if (!sample[name].given) continue;
    out += ", \"";
    out += data::labelled::field_names[static_cast<std::size_t>(name)];
    out += "\": ";
    append_list(std::span<const std::int64_t>(sample[name].values), out);
  }
  if (sample[FieldName::label].given) {
    out += ", \"label\": ";
    append_number(sample[FieldName::label].values[0], out);
  }
  append_label(label, out);
  out += "}\n";
}

void append_sample_line(const MaskedSample& sample, std::string& out) {
  out += "{\"input_ids\": ";
  append_list(std::span(sample.ids), out);
  out += ", \"labels\": ";
  append_list(std::span(sample.labels), out);
  out += "}\n";
}

}  // namespace trainx::corpus
