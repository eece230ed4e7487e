#include "tokenizer/files/class_definition.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

using nlohmann::json;

constexpr const char* mark = "\u2581";  // SentencePiece's blank
// of Qwen2
constexpr const char* qwen_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json sequence(const char* key, json parts) {
  return {{"type", "Sequence"}, {key, std::move(parts)}};
}

json metaspace(const char* scheme, bool split) {
  return {
      {"type", "Metaspace"}, {"replacement", mark}, {"prepend_scheme", scheme}, {"split", split}};
}

json replace(const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}

json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"use_regex", use_regex}};
}

json precompiled(const std::string& charsmap) {
  if (charsmap.empty()) return nullptr;
  return {{"type", "Precompiled"}, {"precompiled_charsmap", charsmap}};
}

/// Words at white space, each with SentencePiece's blank in front.
json marked_words(const char* scheme) {
  return sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace(scheme, true)});
}

/// Tokens of SentencePiece, unknown characters as bytes.
json sentence_decoder(bool strips_blank) {
  json parts = {replace(mark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (strips_blank)
    parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return sequence("decoders", std::move(parts));
}

void gpt2(const TokenSettings& s, const std::string&, json& document) {
  document["pre_tokenizer"] = byte_level(s.flag("add_prefix_space", false), true);
  document["decoder"] = {{"type", "ByteLevel"}};
}

void gpt_neox(const TokenSettings& s, const std::string& charsmap, json& document) {
  gpt2(s, charsmap, document);
  document["normalizer"] = {{"type", "NFC"}};
}

void qwen2(const TokenSettings& s, const std::string&, json& document) {
  document["normalizer"] = {{"type", "NFC"}};
  document["pre_tokenizer"] = sequence(
      "pretokenizers",
      {{{"type", "Split"}, {"pattern", {{"Regex", qwen_pattern}}}, {"behavior", "Isolated"}},
       byte_level(s.flag("add_prefix_space", false), false)});
  document["decoder"] = {{"type", "ByteLevel"}};
}

void cohere(const TokenSettings& s, const std::string&, json& document) {
  document["normalizer"] = {{"type", "NFC"}};
  document["pre_tokenizer"] =
      sequence("pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}},
                                 byte_level(s.flag("add_prefix_space", false), true)});
  document["decoder"] = {{"type", "ByteLevel"}};
}

void llama(const TokenSettings& s, const std::string&, json& document) {
  const bool prefix = s.flag("add_prefix_space", true);
  document["model"]["fuse_unk"] = document["model"]["byte_fallback"] = true;
  document["pre_tokenizer"] = metaspace(!prefix                   ? "never"
                                        : s.flag("legacy", false) ? "always"
                                                                  : "first",
                                        false);
  document["decoder"] = sentence_decoder(prefix);
}

void gemma(const TokenSettings& s, const std::string&, json& document) {
  document["model"]["fuse_unk"] = document["model"]["byte_fallback"] = true;
  if (const NamedToken* unknown = s.find("unk_token"))
    document["model"]["unk_token"] = unknown->token.content;
  document["normalizer"] = replace(" ", mark);
  document["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}};
  document["decoder"] = sentence_decoder(false);
}

void bert(const TokenSettings& s, const std::string&, json& document) {
  if (const NamedToken* unknown = s.find("unk_token"))
    document["model"]["unk_token"] = unknown->token.content;
  json normalizer = {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", s.flag("tokenize_chinese_chars", true)},
                     {"lowercase", s.flag("do_lower_case", true)}};
  if (const auto strips = s.optional_flag("strip_accents")) normalizer["strip_accents"] = *strips;
  document["normalizer"] = std::move(normalizer);
  document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  document["decoder"] = {{"type", "WordPiece"}};
}

void marked(const char* scheme, std::int32_t unknown, json& document) {
  document["model"]["unk_id"] = unknown;
  document["pre_tokenizer"] = marked_words(scheme);
  document["decoder"] = metaspace(scheme, true);
}

void xlm_roberta(const TokenSettings& s, const std::string& charsmap, json& document) {
  marked(s.flag("add_prefix_space", true) ? "always" : "never", 3, document);
  document["normalizer"] = precompiled(charsmap);
}

void t5(const TokenSettings&, const std::string& charsmap, json& document) {
  marked("always", 2, document);
  document["normalizer"] = precompiled(charsmap);
}

void mbart(const TokenSettings&, const std::string&, json& document) {
  marked("always", 3, document);
}

void mbart50(const TokenSettings&, const std::string& charsmap, json& document) {
  marked("always", 3, document);
  document["pre_tokenizer"] = metaspace("always", true);
  json parts = json::array();
  if (!charsmap.empty()) parts.push_back(precompiled(charsmap));
  parts.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  document["normalizer"] = sequence("normalizers", std::move(parts));
}

void albert(const TokenSettings& s, const std::string& charsmap, json& document) {
  marked(s.flag("add_prefix_space", true) ? "always" : "never", 1, document);
  json parts = {replace("``", "\""), replace("''", "\"")};
  if (!s.flag("keep_accents", false)) {
    parts.push_back({{"type", "NFKD"}});
    parts.push_back({{"type", "StripAccents"}});
  }
  if (s.flag("do_lower_case", true)) parts.push_back({{"type", "Lowercase"}});
  if (!charsmap.empty()) parts.push_back(precompiled(charsmap));
  document["normalizer"] = sequence("normalizers", std::move(parts));
}

const std::vector<ClassDefinition>& definitions() {
  static const std::vector<std::string> merges{"vocab.json", "merges.txt"}, words{"vocab.txt"},
      pieces{"sentencepiece.bpe.model"}, spiece{"spiece.model"}, model{"tokenizer.model"}, none;
  using Tokens = std::vector<std::pair<std::string, std::string>>;
  static const Tokens bert_tokens{{"unk_token", "[UNK]"},
                                  {"sep_token", "[SEP]"},
                                  {"pad_token", "[PAD]"},
                                  {"cls_token", "[CLS]"},
                                  {"mask_token", "[MASK]"}},
      roberta_tokens{{"bos_token", "<s>"},    {"eos_token", "</s>"},  {"sep_token", "</s>"},
                     {"cls_token", "<s>"},    {"unk_token", "<unk>"}, {"pad_token", "<pad>"},
                     {"mask_token", "<mask>"}},
      gpt_tokens{{"unk_token", "<|endoftext|>"},
                 {"bos_token", "<|endoftext|>"},
                 {"eos_token", "<|endoftext|>"},
                 {"pad_token", ""}};
  static const Tokens neox_tokens = [] {
    Tokens tokens = gpt_tokens;
    tokens.back().second = "<|padding|>";
    return tokens;
  }();
  static const Tokens mbart50_tokens(roberta_tokens.begin() + 1, roberta_tokens.end());
  static const std::vector<ClassDefinition> all{
      {"GPT2Tokenizer", "BPE", merges, gpt_tokens, Around::file, gpt2},
      {"GPTNeoXTokenizer", "BPE", merges, neox_tokens, Around::ends, gpt_neox},
      {"Qwen2Tokenizer",
       "BPE",
       merges,
       {{"unk_token", "<|endoftext|>"},
        {"eos_token", "<|endoftext|>"},
        {"pad_token", "<|endoftext|>"}},
       Around::file,
       qwen2},
      {"CohereTokenizer",
       "BPE",
       none,
       {{"unk_token", "<UNK>"},
        {"bos_token", "<BOS_TOKEN>"},
        {"eos_token", "<|END_OF_TURN_TOKEN|>"},
        {"pad_token", "<PAD>"},
        {"cls_token", "<CLS>"},
        {"sep_token", "<SEP>"},
        {"mask_token", "<MASK_TOKEN>"}},
       Around::file,
       cohere},
      {"LlamaTokenizer",
       "BPE",
       model,
       {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}},
       Around::file,
       llama},
      {"GemmaTokenizer",
       "BPE",
       none,
       {{"unk_token", "<unk>"},
        {"bos_token", "<bos>"},
        {"eos_token", "<eos>"},
        {"pad_token", "<pad>"},
        {"mask_token", "<mask>"}},
       Around::file,
       gemma},
      {"BertTokenizer", "WordPiece", words, bert_tokens, Around::bert, bert},
      {"DistilBertTokenizer", "WordPiece", words, bert_tokens, Around::bert, bert},
      {"RobertaTokenizer", "BPE", merges, roberta_tokens, Around::roberta, gpt2},
      {"XLMRobertaTokenizer", "Unigram", pieces, roberta_tokens, Around::xlm, xlm_roberta},
      {"T5Tokenizer",
       "Unigram",
       spiece,
       {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
       Around::t5,
       t5},
      {"MBartTokenizer", "Unigram", pieces, roberta_tokens, Around::language_behind, mbart},
      {"MBart50Tokenizer", "Unigram", pieces, mbart50_tokens, Around::language_before, mbart50},
      {"AlbertTokenizer",
       "Unigram",
       spiece,
       {{"bos_token", "[CLS]"},
        {"eos_token", "[SEP]"},
        {"unk_token", "<unk>"},
        {"sep_token", "[SEP]"},
        {"pad_token", "<pad>"},
        {"cls_token", "[CLS]"},
        {"mask_token", "[MASK]"}},
       Around::albert,
       albert},
  };
  return all;
}

}  // namespace

const ClassDefinition* find_class(std::string_view name) {
  const auto& all = definitions();
  const auto found = std::ranges::find(all, name, &ClassDefinition::name);
  return found == all.end() ? nullptr : &*found;
}

const std::vector<std::string>& mbart_languages(bool fifty) {
  static const std::vector<std::string> all{
      "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
      "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
      "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
      "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
      "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
      "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
  static const std::vector<std::string> first(all.begin(), all.begin() + 25);
  return fifty ? all : first;
}

}  // namespace trainx::tokenizer
