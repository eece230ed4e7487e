#include "tokenizer/train/learn_tokenizer.hpp"
#include "core/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/train/learn_merges.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

using nlohmann::ordered_json;

const char* const end_of_text = "<|endoftext|>";
const std::vector<std::string> bert_special{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

ordered_json pre_tokenizer_of(LearnedKind kind) {
  if (kind == LearnedKind::wordpiece) return {{"type", "BertPreTokenizer"}};
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", true}};
}

ordered_json normalizer_of(LearnedKind kind) {
  if (kind == LearnedKind::bpe) return nullptr;
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", true}};
}

ordered_json added_tokens(const std::vector<std::string>& special) {
  ordered_json out = ordered_json::array();
  for (std::size_t id = 0; id < special.size(); ++id)
    out.push_back({{"id", id},
                   {"content", special[id]},
                   {"single_word", false},
                   {"lstrip", false},
                   {"rstrip", false},
                   {"normalized", false},
                   {"special", true}});
  return out;
}

ordered_json vocabulary_of(const Learned& learned) {
  ordered_json out = ordered_json::object();
  // Straight in: a look-up for each token, which an ordered object does by looking through all,
  // would take their square.
  auto& object = out.get_ref<ordered_json::object_t&>();
  for (std::size_t id = 0; id < learned.tokens.size(); ++id)
    static_cast<std::vector<ordered_json::object_t::value_type>&>(object).emplace_back(
        learned.tokens[id], id);
  return out;
}

ordered_json bert_template() {
  const auto token = [](const char* id, int type) {
    return ordered_json{{"SpecialToken", {{"id", id}, {"type_id", type}}}};
  };
  const auto text = [](const char* id, int type) {
    return ordered_json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  ordered_json special;
  for (const int id : {2, 3})
    special[bert_special[static_cast<std::size_t>(id)]] = {
        {"id", bert_special[static_cast<std::size_t>(id)]},
        {"ids", {id}},
        {"tokens", {bert_special[static_cast<std::size_t>(id)]}}};
  return {{"type", "TemplateProcessing"},
          {"single", {token("[CLS]", 0), text("A", 0), token("[SEP]", 0)}},
          {"pair",
           {token("[CLS]", 0), text("A", 0), token("[SEP]", 0), text("B", 1), token("[SEP]", 1)}},
          {"special_tokens", special}};
}

ordered_json bpe_model(const Learned& learned) {
  ordered_json merges = ordered_json::array();
  for (const auto& [left, right] : learned.merges) merges.push_back({left, right});
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_of(learned)},
          {"merges", merges}};
}

}  // namespace

std::unique_ptr<PieceCounter> make_counter(LearnedKind kind) {
  const nlohmann::json cut = pre_tokenizer_of(kind), change = normalizer_of(kind);
  return std::make_unique<PieceCounter>(
      change.is_null() ? nullptr : make_normalizer(Component(change, "vocabulary", "normalizer")),
      make_pre_tokenizer(Component(cut, "vocabulary", "pre_tokenizer")));
}

void check_learned_size(LearnedKind kind, std::int64_t vocab_size) {
  const bool bpe = kind == LearnedKind::bpe;
  if (vocab_size >= (bpe ? 257 : 64)) return;
  throw UserError(ExitCode::usage,
                  "a vocabulary of " + std::to_string(vocab_size) + " tokens is too small: " +
                      (bpe ? "256 bytes and <|endoftext|> take 257" : "the least is 64"));
}

std::string learn_tokenizer(LearnedKind kind, const WordCounts& words, std::int64_t vocab_size) {
  check_learned_size(kind, vocab_size);
  if (words.empty())
    throw UserError(ExitCode::bad_data, "the text has no words to learn a vocabulary from");
  const bool bpe = kind == LearnedKind::bpe;
  LearnOptions o;
  o.vocab_size = vocab_size;
  o.special = bpe ? std::vector<std::string>{end_of_text} : bert_special;
  WordCounts in_characters;
  if (bpe) {
    for (int byte = 0; byte < 256; ++byte)
      o.alphabet.push_back(in_byte_alphabet(std::string(1, static_cast<char>(byte))));
    for (const auto& [word, count] : words) in_characters.emplace(in_byte_alphabet(word), count);
  } else {
    o.continuing_subword_prefix = "##";
    // Each character may be there twice, alone and inside words: a half of the vocabulary is left
    // for longer pieces.
    o.most_characters = std::min<std::int64_t>((vocab_size - 5) / 4, 5000);
  }
  const Learned learned = learn_merges(bpe ? in_characters : words, o);
  ordered_json model = bpe_model(learned);
  if (!bpe)
    model = {{"type", "WordPiece"},
             {"unk_token", "[UNK]"},
             {"continuing_subword_prefix", "##"},
             {"max_input_chars_per_word", 100},
             {"vocab", vocabulary_of(learned)}};
  const ordered_json decoder =
      bpe ? ordered_json{{"type", "ByteLevel"},
                         {"add_prefix_space", true},
                         {"trim_offsets", true},
                         {"use_regex", true}}
          : ordered_json{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  const ordered_json post = bpe ? ordered_json{{"type", "ByteLevel"},
                                               {"add_prefix_space", true},
                                               {"trim_offsets", false},
                                               {"use_regex", true}}
                                : bert_template();
  const ordered_json whole{{"version", "1.0"},
                           {"truncation", nullptr},
                           {"padding", nullptr},
                           {"added_tokens", added_tokens(o.special)},
                           {"normalizer", normalizer_of(kind)},
                           {"pre_tokenizer", pre_tokenizer_of(kind)},
                           {"post_processor", post},
                           {"decoder", decoder},
                           {"model", model}};
  return whole.dump(2) + "\n";
}

}  // namespace trainx::tokenizer
