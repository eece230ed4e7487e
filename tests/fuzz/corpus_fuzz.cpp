#include "corpus/part_encoder.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "tokenizer/files/tokenizer_json.hpp"
#include <cstdio>

namespace trainx::fuzz {
namespace {

/// Bytes, and a merge that spans what the text is cut between.
const tokenizer::Tokenizer& bytes_tokenizer() {
  static const auto made = [] {
    nlohmann::json vocab = nlohmann::json::object();
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
      vocab[name] = byte;
    }
    const nlohmann::json whole{{"model",
                                {{"type", "BPE"},
                                 {"byte_fallback", true},
                                 {"vocab", vocab},
                                 {"merges", nlohmann::json::array()}}}};
    return tokenizer::make_tokenizer(tokenizer::read_tokenizer_json(whole.dump(), "bytes.json"));
  }();
  return *made;
}

}  // namespace

void fuzz_corpus(Bytes bytes, const Ways& ways) {
  static const auto encoder = bytes_tokenizer().make_encoder();
  const std::string path = "data";
  ways.each(8, [&](std::size_t i) {
    constexpr corpus::Format formats[] = {corpus::Format::text, corpus::Format::jsonl,
                                          corpus::Format::csv, corpus::Format::tsv};
    constexpr bool either[] = {false, true};
    Choices way(i);
    const bool samples = way.of(either);
    const corpus::Format format = way.of(formats);
    if (samples && format == corpus::Format::text) return;
    const std::vector<corpus::Input> inputs{
        {path, format, static_cast<std::int64_t>(bytes.size()), 0}};
    corpus::OutputOptions o;
    o.samples = samples;
    o.end_of_text = 1;
    const auto encode = [&](const corpus::Part& part, corpus::EncodedPart& out) {
      return accepted([&] {
        out = corpus::encode_part(
            inputs, part, bytes_tokenizer(), o, *encoder,
            [&](const corpus::Input& input) { return data::MappedFile(input.path, bytes); });
      });
    };
    corpus::EncodedPart whole, first, second;
    const std::size_t middle = bytes.size() / 2;
    if (!encode({{0, 0, bytes.size()}}, whole)) return;
    require(encode({{0, 0, middle}}, first) && encode({{0, middle, bytes.size()}}, second),
            "what is read whole is read in parts");
    require(first.documents + second.documents == whole.documents,
            "parts have the documents of the whole");
    first.ids.insert(first.ids.end(), second.ids.begin(), second.ids.end());
    require(first.ids == whole.ids && first.lines + second.lines == whole.lines,
            "parts have the tokens of the whole");
  });
}

}  // namespace trainx::fuzz
