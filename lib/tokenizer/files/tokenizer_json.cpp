#include "tokenizer/files/tokenizer_json.hpp"
#include "core/error.hpp"
#include "tokenizer/bpe/bpe.hpp"
#include "tokenizer/files/read_json.hpp"
#include "tokenizer/unigram/unigram.hpp"
#include "tokenizer/word_piece.hpp"
#include "yaml/problems.hpp"

namespace trainx::tokenizer {
namespace {

std::int32_t id_in(const nlohmann::json& value, const Component& c, const std::string& key) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() >= static_cast<std::uint64_t>(most_ids))
    c.refuse("is no id from 0 to " + std::to_string(most_ids - 1), key);
  return value.get<std::int32_t>();
}

VocabularyTable read_vocabulary(const Component& c) {
  const nlohmann::json& vocab = c.value("vocab");
  if (!vocab.is_object()) c.refuse("is no object of tokens and their ids", "vocab");
  VocabularyTable out;
  for (const auto& [token, id] : vocab.items()) {
    const std::int32_t n = id_in(id, c, "vocab: the id of " + yaml::excerpt(token));
    if (token.empty()) c.refuse("has an empty token", "vocab");
    if (!out.add(token, n))
      c.refuse("gives the id " + std::to_string(n) + " to " + yaml::excerpt(token) + " and to " +
                   yaml::excerpt(out.token_of(n)),
               "vocab");
  }
  if (out.count() == 0) c.refuse("has no tokens", "vocab");
  return out;
}

Merges read_merges(const Component& c) {
  const nlohmann::json& list = c.value("merges");
  if (!list.is_array()) c.refuse("is no list", "merges");
  Merges out;
  for (const auto& item : list) {
    const auto refuse = [&] {
      c.refuse("is neither \"left right\" nor [\"left\", \"right\"]",
               "merges[" + std::to_string(out.size()) + "]");
    };
    if (item.is_string()) {
      const auto& text = item.get_ref<const std::string&>();
      const std::size_t blank = text.find(' ');
      if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos) refuse();
      out.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    } else if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      out.emplace_back(item[0], item[1]);
    } else {
      refuse();
    }
  }
  return out;
}

/// [["<unk>", 0.0], ["\u2581the", -3.2], ...]: an id is a place in the list.
std::unique_ptr<Model> read_unigram(const Component& c) {
  constexpr std::size_t longest_token = 1024;  // bytes: what a place of a text may take of time
  c.allow({"unk_id", "vocab", "byte_fallback"});
  const nlohmann::json& list = c.value("vocab");
  if (!list.is_array() || list.empty()) c.refuse("is no list of tokens and their scores", "vocab");
  if (list.size() > static_cast<std::size_t>(most_ids))
    c.refuse("has more than " + std::to_string(most_ids) + " tokens", "vocab");
  VocabularyTable vocabulary;
  std::vector<double> scores;
  for (const auto& item : list) {
    const auto id = static_cast<std::int32_t>(scores.size());
    const auto refuse = [&](const std::string& what) {
      c.refuse(what, "vocab[" + std::to_string(id) + "]");
    };
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      refuse("is no [token, score]");
    const auto& token = item[0].get_ref<const std::string&>();
    if (token.empty()) refuse("is an empty token");
    if (token.size() > longest_token)
      refuse("is a token of more than " + std::to_string(longest_token) + " bytes");
    vocabulary.add_again(token, id);
    scores.push_back(item[1].get<double>());
  }
  UnigramOptions o;
  o.unk_id = static_cast<std::int32_t>(
      c.number("unk_id", no_id, 0, static_cast<std::int64_t>(scores.size()) - 1));
  o.byte_fallback = c.flag("byte_fallback", false);
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), o, c.place());
}

/// Older files name no type.
std::string model_type(const Component& c) {
  if (!c.type().empty()) return c.type();
  if (c.has("vocab") && c.value("vocab").is_array()) return "Unigram";
  return c.has("merges") ? "BPE" : c.has("max_input_chars_per_word") ? "WordPiece" : "";
}

std::unique_ptr<Model> read_model(const Component& c, bool as_bytes) {
  const std::string type = model_type(c);
  if (type == "WordPiece") {
    c.allow({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    if (as_bytes) c.refuse("is WordPiece behind ByteLevel, which trainx does not support");
    WordPieceOptions o;
    o.unk_token = c.text("unk_token", o.unk_token);
    o.continuing_subword_prefix = c.text("continuing_subword_prefix", o.continuing_subword_prefix);
    o.max_input_chars_per_word =
        c.number("max_input_chars_per_word", o.max_input_chars_per_word, 0, 1 << 20);
    return std::make_unique<WordPiece>(read_vocabulary(c), o, c.place());
  }
  if (type == "BPE") {
    c.allow({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
             "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (c.has("dropout") &&
        !(c.value("dropout").is_number() && c.value("dropout").get<double>() == 0))
      c.refuse("is not 0: tokens would be drawn, which trainx does not support", "dropout");
    BpeOptions o;
    o.unk_token = c.text("unk_token", "");
    o.continuing_subword_prefix = c.text("continuing_subword_prefix", "");
    o.end_of_word_suffix = c.text("end_of_word_suffix", "");
    o.fuse_unk = c.flag("fuse_unk", false);
    o.byte_fallback = c.flag("byte_fallback", false);
    o.ignore_merges = c.flag("ignore_merges", false);
    o.as_bytes = as_bytes;
    VocabularyTable vocabulary = read_vocabulary(c);
    if (!o.unk_token.empty() && vocabulary.id_of(o.unk_token) == no_id)
      c.refuse("is " + yaml::excerpt(o.unk_token) + ", which the vocabulary does not have",
               "unk_token");
    return std::make_unique<Bpe>(
        std::move(vocabulary), read_merges(c), std::move(o),
        [&](std::size_t i) { return c.place("merges[" + std::to_string(i) + "]"); });
  }
  if (type == "Unigram") {
    if (as_bytes) c.refuse("is Unigram behind ByteLevel, which trainx does not support");
    return read_unigram(c);
  }
  c.refuse_type("model", {"BPE", "WordPiece", "Unigram"});
}

void read_added_tokens(const Component& root, Pipeline& p) {
  MatchSpace space;
  for (const Component& c : root.parts("added_tokens")) {
    c.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.id = id_in(c.value("id"), c, "id");
    token.content = c.text("content");
    token.single_word = c.flag("single_word", false);
    token.lstrip = c.flag("lstrip", false);
    token.rstrip = c.flag("rstrip", false);
    token.special = c.flag("special", false);
    token.normalized = c.flag("normalized", !token.special);
    if (token.content.empty()) c.refuse("is empty", "content");
    const VocabularyTable& vocabulary = p.model->vocabulary();
    const std::int32_t known = vocabulary.id_of(token.content);
    const std::string& other = vocabulary.token_of(token.id);
    if (known != no_id && known != token.id)
      c.refuse("is " + std::to_string(token.id) + ", but model.vocab has " +
                   yaml::excerpt(token.content) + " as " + std::to_string(known),
               "id");
    if (!other.empty() && other != token.content)
      c.refuse(
          "is " + std::to_string(token.id) + ", which model.vocab gives to " + yaml::excerpt(other),
          "id");
    if (p.added.by_id(token.id) || p.added.id_of(token.content) != no_id)
      c.refuse("adds a token or an id a second time");
    p.added.add(std::move(token), p.normalizer.get(), space);
  }
}

}  // namespace

Pipeline read_tokenizer_json(const std::string& text, const std::string& path) {
  return make_pipeline(parse_tokenizer_json(text, path), path);
}

Pipeline make_pipeline(const nlohmann::json& json, const std::string& path) {
  const Component root(json, path, "");
  root.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
              "post_processor", "decoder", "model"});
  Pipeline p;
  if (root.has("normalizer")) p.normalizer = make_normalizer(root.part("normalizer"));
  if (root.has("pre_tokenizer")) p.pre_tokenizer = make_pre_tokenizer(root.part("pre_tokenizer"));
  p.model = read_model(root.part("model"), p.pre_tokenizer && p.pre_tokenizer->as_bytes());
  if (root.has("added_tokens")) read_added_tokens(root, p);
  if (root.has("post_processor")) p.post_processor = PostProcessor(root.part("post_processor"));
  for (const std::int32_t id : p.post_processor.added())
    if (!p.added.by_id(id) && !p.model->vocabulary().has(id))
      root.refuse("adds the id " + std::to_string(id) + ", which is no token", "post_processor");
  if (root.has("decoder")) p.decoder = make_decoder(root.part("decoder"));
  return p;
}

}  // namespace trainx::tokenizer
