#include "fuzz/expect.hpp"
#include "data/text/utf8.hpp"
#include <string>

namespace trainx::fuzz {

void check_refusal(const UserError& error) {
  const std::string_view sentence = error.what();
  const std::string said = ": " + std::string(sentence.substr(0, 1000));
  const ExitCode code = error.code();
  if (code != ExitCode::bad_data && code != ExitCode::input_missing &&
      code != ExitCode::invalid_recipe)
    throw Defect("refused with exit code " + std::to_string(static_cast<int>(code)) + said);
  if (data::text::find_malformed_utf8(std::as_bytes(std::span(sentence))))
    throw Defect("the sentence is not UTF-8" + said);
  constexpr std::size_t longest_line = 4096;
  std::size_t line = 0;
  bool after_c2 = false;  // U+0080 to U+009F are control characters too
  for (const char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f || (after_c2 && byte < 0xa0))
      throw Defect("the sentence has control character " + std::to_string(byte) + said);
    after_c2 = byte == 0xc2;
    line = c == '\n' ? 0 : line + 1;
    if (line > longest_line) throw Defect("the sentence has a line of more than 4096 bytes" + said);
  }
  if (sentence.empty()) throw Defect("refused without a word");
}

}  // namespace trainx::fuzz
