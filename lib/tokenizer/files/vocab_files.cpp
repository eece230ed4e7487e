#include "tokenizer/files/vocab_files.hpp"
#include "core/error.hpp"
#include "tokenizer/bpe/bpe.hpp"
#include "tokenizer/files/read_json.hpp"
#include "tokenizer/files/tokenizer_json.hpp"
#include "tokenizer/unicode/code_point_set.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "yaml/problems.hpp"

namespace trainx::tokenizer {
namespace {

using nlohmann::json;

/// Calls `use(line, number)` for each, without its end.
template <class Use>
void for_each_line(const std::string& text, Use&& use) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line, ++number);
    at = end + 1;
  }
}

[[noreturn]] void refuse(const std::string& path, std::int64_t line, const std::string& what) {
  throw UserError(ExitCode::bad_data, path + ":" + std::to_string(line) + ": " + what);
}

json added_token(std::uint32_t id, const std::string& content) {
  return {{"id", id}, {"content", content}, {"normalized", false}, {"special", true}};
}

std::string_view without_space_behind(std::string_view text) {
  const CodePointSet& space = set_of(CodePointClass::space);
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();)
    if (!space.contains(next_code_point(text, at))) end = at;
  return text.substr(0, end);
}

}  // namespace

json read_merges_model(const std::string& vocab_path, const std::string& merges_path) {
  const json vocab = parse_tokenizer_json(read_tokenizer_file(vocab_path), vocab_path);
  const std::string text = read_tokenizer_file(merges_path);
  json merges = json::array();
  std::vector<std::int64_t> lines;
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    if (line.starts_with("#version") || line.empty()) return;
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos)
      refuse(merges_path, number, "is no merge of two tokens with a blank between them");
    merges.push_back({line.substr(0, blank), line.substr(blank + 1)});
    lines.push_back(number);
  });
  // Where a merge names what the vocabulary lacks, the line is told; the rest is as in a
  // tokenizer.json.
  for (std::size_t i = 0; vocab.is_object() && i < lines.size(); ++i)
    for (const std::string& token :
         {merges[i][0].get<std::string>(), merges[i][1].get<std::string>(),
          merges[i][0].get<std::string>() + merges[i][1].get<std::string>()})
      if (!vocab.contains(token))
        refuse(merges_path, lines[i],
               "the vocabulary " + vocab_path + " lacks the token " + yaml::excerpt(token));
  return {{"type", "BPE"}, {"vocab", vocab}, {"merges", std::move(merges)}};
}

Pipeline read_gpt2_files(const std::string& vocab_path, const std::string& merges_path) {
  json whole{{"model", read_merges_model(vocab_path, merges_path)},
             {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
             {"decoder", {{"type", "ByteLevel"}}}};
  const json& vocab = whole["model"]["vocab"];
  const std::string end_of_text = "<|endoftext|>";
  if (vocab.is_object() && vocab.contains(end_of_text) && vocab[end_of_text].is_number_unsigned())
    whole["added_tokens"] = json::array({added_token(vocab[end_of_text], end_of_text)});
  return make_pipeline(whole, vocab_path);
}

json read_words_model(const std::string& path) {
  json vocab = json::object();
  for_each_line(read_tokenizer_file(path), [&](std::string_view line, std::int64_t number) {
    const std::string token(without_space_behind(line));
    if (token.empty())
      refuse(path, number, "is blank: each line is a token, whose number is its id");
    if (!vocab.emplace(token, static_cast<std::uint64_t>(number - 1)).second)
      refuse(path, number,
             "the token " + yaml::excerpt(token) + " was there before: each line is another token");
  });
  return {{"type", "WordPiece"}, {"vocab", std::move(vocab)}};
}

Pipeline read_bert_vocab(const std::string& path) {
  json whole{{"model", read_words_model(path)},
             {"normalizer", {{"type", "BertNormalizer"}}},
             {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
             {"decoder", {{"type", "WordPiece"}}},
             {"added_tokens", json::array()}};
  const json& vocab = whole["model"]["vocab"];
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (vocab.contains(token)) whole["added_tokens"].push_back(added_token(vocab[token], token));
  if (vocab.contains("[CLS]") && vocab.contains("[SEP]"))
    whole["post_processor"] = {{"type", "BertProcessing"},
                               {"sep", {"[SEP]", vocab["[SEP]"]}},
                               {"cls", {"[CLS]", vocab["[CLS]"]}}};
  return make_pipeline(whole, path);
}

}  // namespace trainx::tokenizer
