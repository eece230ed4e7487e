#include "corpus/sample_line.hpp"
#include <algorithm>
#include <charconv>

namespace trainx::corpus {
namespace {

void append_number(std::int64_t n, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
}

void append_list(const tokenizer::Ids& ids, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ", ";
    append_number(ids[i], out);
  }
  out += ']';
}

}  // namespace

void append_sample_line(const tokenizer::Encoding& sample, std::optional<std::int64_t> label, std::string& out) {
  out += "{\"input_ids\": ";
  append_list(sample.ids, out);
  if (std::ranges::any_of(sample.type_ids, [](std::int32_t t) { return t != 0; })) {
    out += ", \"token_type_ids\": ";
    append_list(sample.type_ids, out);
  }
  if (label) {
    out += ", \"label\": ";
    append_number(*label, out);
  }
  out += "}\n";
}

}  // namespace trainx::corpus
