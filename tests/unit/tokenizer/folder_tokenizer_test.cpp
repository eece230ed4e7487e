#include "core/files.hpp"
#include "tokenizer/files/folder_class.hpp"
#include "tokenizer/files/generate_merges.hpp"
#include "tokenizer/files/mistral_pattern.hpp"
#include "tokenizer/files/sentence_piece_file.hpp"
#include "tokenizer/fingerprint.hpp"
#include "tokenizer/tokenizer.hpp"
#include "support/catch.hpp"
#include "unit/data/expect_user_error.hpp"
#include "unit/data/scratch_folder.hpp"
#include <nlohmann/json.hpp>

namespace trainx::tokenizer::folder_tokenizer_test {
namespace {

using data::ScratchFolder;

Ids encode(const Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  tokenizer.make_encoder()->append(text, ids);
  return tokenizer.sample(std::move(ids), std::nullopt, true).ids;
}

void write_merges(const ScratchFolder& folder) {
  folder.write("vocab.json",
               R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "ab": 6, "Ġ": 7})");
  folder.write("merges.txt", "#version: 0.2\na b\n");
}

nlohmann::json small_json() {
  return {
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
}

std::string class_of(const std::string& config, const std::string& settings,
                     bool has_byte_level = false) {
  const ScratchFolder folder;
  if (!config.empty()) folder.write("config.json", config);
  if (!settings.empty()) folder.write("tokenizer_config.json", settings);
  return class_of_folder(folder.path(), has_byte_level).name;
}

/// A field of a message of protocol buffers that has bytes, fewer than 128.
std::string field(int number, const std::string& bytes) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(bytes.size())) +
         bytes;
}

/// A piece of a SentencePiece file, whose score is 0.
std::string piece(const std::string& text, SentencePieceFile::Type type) {
  return field(1, field(1, text) + '\x18' + static_cast<char>(type));
}

}  // namespace

TEST_CASE("the class of a folder is the one that AutoTokenizer takes") {
  CHECK(class_of("", "") == backend_class);
  CHECK(class_of(R"({"model_type": "bert"})", "") == "BertTokenizer");
  CHECK(class_of(R"({"model_type": "llama"})", R"({"tokenizer_class": "LlamaTokenizerFast"})") ==
        "LlamaTokenizer");
  // Llama 3's file under Llama 2's name
  CHECK(class_of(R"({"model_type": "llama"})", R"({"tokenizer_class": "LlamaTokenizer"})", true) ==
        backend_class);
  // types for which transformers knows better
  CHECK(class_of(R"({"model_type": "qwen2"})", R"({"tokenizer_class": "LlamaTokenizer"})") ==
        "Qwen2Tokenizer");
  CHECK(class_of(R"({"model_type": "granite"})", R"({"tokenizer_class": "GPT2Tokenizer"})") ==
        backend_class);
  CHECK(class_of(R"({"model_type": "bart"})", R"({"tokenizer_class": "BartTokenizer"})") ==
        "RobertaTokenizer");
  CHECK(class_of(R"({"tokenizer_class": "T5Tokenizer"})", "") == "T5Tokenizer");
  CHECK(class_of("", R"({"tokenizer_class": "NobodyKnowsTokenizer"})") == backend_class);
  CHECK(class_of("", R"({"tokenizer_class": "CamembertTokenizer"})") == "CamembertTokenizer");
}

TEST_CASE("vocab.json and merges.txt follow the folder's class and settings") {
  const ScratchFolder folder;
  write_merges(folder);
  folder.write("config.json", R"({"model_type": "opt"})");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "GPT2Tokenizer", "bos_token": "</s>", "eos_token": "</s>",
                   "unk_token": "</s>", "add_bos_token": true})");
  const auto opt = open_tokenizer(folder.path());
  CHECK(encode(*opt, "ab</s>b") == Ids{2, 6, 2, 5});
  CHECK(opt->end_of_text() == 2);
  CHECK(opt->named().mask == -1);
  CHECK(opt->named().special == Ids{2});
  // the same through the file's name
  CHECK(encode(*open_tokenizer(folder.path("vocab.json")), "ab</s>b") == Ids{2, 6, 2, 5});

  folder.write("config.json", R"({"model_type": "roberta"})");
  folder.write("tokenizer_config.json", "{}");
  const auto roberta = open_tokenizer(folder.path());
  CHECK(encode(*roberta, "ab<mask>b") == Ids{0, 6, 8, 5, 2});  // <mask> is new
  CHECK(roberta->named().mask == 8);
  CHECK(roberta->named().special == Ids{0, 1, 2, 3, 8});

  folder.write("tokenizer_config.json", R"({"tokenizer_class": "CamembertTokenizer"})");
  data::expect_user_error(ExitCode::bad_data, {"CamembertTokenizer", "PreTrainedTokenizerFast"},
                          [&] { open_tokenizer(folder.path()); });
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("tokenizer_config.json", "{}");
  data::expect_user_error(ExitCode::bad_data, {"vocab.json", "tokenizer_class"},
                          [&] { open_tokenizer(folder.path()); });
}

TEST_CASE("tokens of tokenizer_config.json and added_tokens.json get ids behind the vocabulary") {
  const ScratchFolder folder;
  folder.write("tokenizer.json", small_json().dump());
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<e>",
                   "extra_special_tokens": ["<x>"]})");
  const auto named = open_tokenizer(folder.path());
  CHECK(encode(*named, "ab<x>a<e>") == Ids{2, 4, 0, 3});
  CHECK(named->end_of_text() == 3);
  CHECK(named->vocab_size() == 5);

  folder.write("tokenizer_config.json", R"({"split_special_tokens": true, "eos_token": "ab"})");
  CHECK(encode(*open_tokenizer(folder.path()), "ab") == Ids{2});
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  folder.write("added_tokens.json", R"({"<y>": 9, "<x>": 8})");
  const auto added = open_tokenizer(folder.path());
  CHECK(encode(*added, "<y><x>") == Ids{4, 3});  // in the order of their ids

  folder.write("tokenizer_config.json", R"({"eos_token": 5})");
  data::expect_user_error(ExitCode::bad_data, {"tokenizer_config.json", "eos_token"},
                          [&] { open_tokenizer(folder.path()); });
}

TEST_CASE("the token that a tokenizer.json pads with is the pad_token that nothing else names") {
  const ScratchFolder folder;
  nlohmann::json whole = small_json();
  whole["model"]["vocab"]["\u2581"] = 3;
  const auto encoded = [&](const nlohmann::json& padding, const std::string& settings) {
    whole["padding"] = padding;
    folder.write("tokenizer.json", whole.dump());
    folder.write("tokenizer_config.json", settings);
    return encode(*open_tokenizer(folder.path()), "ab");
  };
  const nlohmann::json padding{{"pad_token", "a"}};
  const std::string backend = R"({"tokenizer_class": "PreTrainedTokenizerFast")";
  CHECK(encoded(nullptr, backend + "}") == Ids{2});
  CHECK(encoded(padding, backend + "}") == Ids{0, 1});
  CHECK(encoded(padding, backend + R"(, "pad_token": "b"})") == Ids{0, 1});
  CHECK(encoded(padding, backend + R"(, "pad_token": null})") == Ids{2});
  CHECK(encoded(padding, backend + R"(, "pad_token": "ab"})") == Ids{2});
  // a class whose own default is another, or none
  CHECK(encoded(padding, R"({"tokenizer_class": "GPT2Tokenizer"})") == Ids{2});
  CHECK(encoded(padding, R"({"tokenizer_class": "GPTNeoXTokenizer"})") == Ids{2});
  data::expect_user_error(ExitCode::bad_data, {"tokenizer.json", "padding", "pad_token"}, [&] {
    encoded({{"pad_token", 1}}, "{}");
  });
  // a token of added_tokens.json is looked for in normalized text, also if it turns special
  folder.write("added_tokens.json", R"({"B": 4})");
  whole["normalizer"] = {{"type", "Lowercase"}};
  CHECK(encoded({{"pad_token", "B"}}, backend + "}") == Ids{0, 4});
  CHECK(encoded(nullptr, backend + R"(, "pad_token": "B"})") == Ids{2});
  folder.write("added_tokens.json", "{}");
  whole["normalizer"] = nullptr;
  // a class that has no say in it
  whole["pre_tokenizer"] = nullptr;
  const std::string llama = R"({"tokenizer_class": "LlamaTokenizer")";
  CHECK(encoded(nullptr, llama + "}") == Ids{3, 2});
  CHECK(encoded(padding, llama + "}") == Ids{0, 1});
  CHECK(encoded(padding, llama + R"(, "pad_token": "b"})") == Ids{3, 0, 1});
  CHECK(encoded(padding, llama + R"(, "pad_token": null})") == Ids{3, 2});
}

TEST_CASE("a token that files give different flags is found as the last says, and stays special") {
  const std::string settings = R"({"tokenizer_class": "PreTrainedTokenizerFast")";
  const auto opened = [&](bool special, bool normalized, const std::string& more,
                          const std::string& added) {
    const ScratchFolder folder;
    nlohmann::json whole = small_json();
    whole["normalizer"] = {{"type", "Lowercase"}};
    whole["added_tokens"] = {
        {{"id", 3}, {"content", "AB"}, {"special", special}, {"normalized", normalized}}};
    folder.write("tokenizer.json", whole.dump());
    folder.write("added_tokens.json", added);
    folder.write("tokenizer_config.json", settings + more + "}");
    return open_tokenizer(folder.path());
  };
  const std::string splits = R"(, "split_special_tokens": true)";
  // added_tokens.json calls it plain and normalized, and is read in the order of ids
  const auto later = opened(true, false, "", R"({"AB": 9})");
  CHECK(encode(*later, "abaAB") == Ids{3, 0, 3});
  CHECK(later->decode(Ids{3}, true) == "ab");
  CHECK(encode(*opened(true, false, splits, R"({"AB": 9})"), "abaAB") == Ids{2, 0, 2});
  const auto earlier = opened(true, false, "", R"({"AB": 1})");
  CHECK(encode(*earlier, "abaAB") == Ids{2, 0, 3});
  CHECK(earlier->decode(Ids{3}, true) == "ab");
  CHECK(earlier->decode(Ids{3}, false) == "ab");
  // a plain token of the file that the settings name
  const std::string named = R"(, "eos_token": "AB")";
  CHECK(encode(*opened(false, true, named, "{}"), "abaAB") == Ids{3, 0, 3});
  CHECK(encode(*opened(false, true, named + splits, "{}"), "abaAB") == Ids{2, 0, 2});
  const auto raw = opened(false, false, named, "{}");
  CHECK(encode(*raw, "abaAB") == Ids{2, 0, 3});
  CHECK(raw->decode(Ids{3}, true).empty());
  const std::string extra = R"(, "extra_special_tokens": ["AB"])";
  CHECK(encode(*opened(false, false, extra + splits, "{}"), "abaAB") == Ids{2, 0, 3});
}

TEST_CASE("a class and a tokenizer.json of another kind are refused") {
  const ScratchFolder folder;
  folder.write("tokenizer.json", small_json().dump());
  folder.write("config.json", R"({"model_type": "t5"})");
  data::expect_user_error(
      ExitCode::bad_data,
      {"tokenizer.json", "BPE", "T5Tokenizer", "Unigram", "PreTrainedTokenizerFast"},
      [&] { open_tokenizer(folder.path()); });
}

TEST_CASE("SentencePiece files whose folder names no class are refused") {
  const ScratchFolder folder;
  folder.write("spiece.model", "x");
  data::expect_user_error(ExitCode::bad_data, {"spiece.model", "tokenizer_class"},
                          [&] { open_tokenizer(folder.path()); });
  folder.write("config.json", R"({"model_type": "t5"})");
  data::expect_user_error(ExitCode::bad_data, {"spiece.model", "no SentencePiece model"},
                          [&] { open_tokenizer(folder.path()); });
  const ScratchFolder mistral;
  mistral.write("tekken.json", "{}");
  data::expect_user_error(ExitCode::bad_data, {"tekken.json", "save_pretrained"},
                          [&] { open_tokenizer(mistral.path()); });
}

TEST_CASE("of a SentencePiece file, control tokens are special and user-defined ones are not") {
  using File = SentencePieceFile;
  const ScratchFolder folder;
  folder.write("spiece.model", piece("<pad>", File::control) + piece("</s>", File::control) +
                                   piece("<unk>", File::unknown) + piece("\u2581a", File::normal) +
                                   piece("<mine>", File::user_defined) +
                                   piece("<theirs>", File::control));
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "pad_token": "<pad>",
                   "eos_token": "</s>", "unk_token": "<unk>"})");
  const auto tokenizer = open_tokenizer(folder.path());
  CHECK(encode(*tokenizer, "a<mine>a<theirs>") == Ids{3, 4, 3, 5, 1});
  CHECK(tokenizer->decode(Ids{3, 4, 3, 5, 1}, false) == "a<mine> a<theirs></s>");
  CHECK(tokenizer->decode(Ids{3, 4, 3, 5, 1}, true) == "a<mine> a");
}

TEST_CASE("merges of a vocabulary without them") {
  const nlohmann::json vocab{{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}};
  CHECK(generate_merges(vocab) ==
        nlohmann::json::array({nlohmann::json::array({"a", "b"}), nlohmann::json::array({"b", "c"}),
                               nlohmann::json::array({"a", "bc"}),
                               nlohmann::json::array({"ab", "c"})}));
}

TEST_CASE("a large vocabulary of Mistral's gets the pattern that it should have had") {
  const ScratchFolder folder;
  nlohmann::json vocab;
  for (int id = 0; id <= 100'000; ++id) vocab["t" + std::to_string(id)] = id;
  const nlohmann::json document{{"model", {{"vocab", vocab}}},
                                {"added_tokens", nlohmann::json::array()},
                                {"pre_tokenizer", {{"type", "Metaspace"}}}};
  const auto fixed = [&](const std::string& version, const std::string& type) {
    folder.write("config.json", R"({"transformers_version": ")" + version +
                                    R"(", "model_type": ")" + type + R"("})");
    nlohmann::json now = document;
    fix_mistral_pattern(folder.path(""), now);
    return now["pre_tokenizer"];
  };
  const nlohmann::json now = fixed("4.57.1", "mistral");
  REQUIRE(now["pretokenizers"].size() == 2);
  CHECK(now["pretokenizers"][0]["behavior"] == "Isolated");
  CHECK(now["pretokenizers"][1] ==
        nlohmann::json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  CHECK(fixed("5.0.0", "mistral") == document["pre_tokenizer"]);
  CHECK(fixed("4.57.1", "llama") == document["pre_tokenizer"]);
}

TEST_CASE("fingerprints and differences of tokenizers") {
  const ScratchFolder folder;
  auto json = small_json();
  folder.write("a/tokenizer.json", json.dump());
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"c", 3}};
  folder.write("more/tokenizer.json", json.dump());
  json["model"]["vocab"] = {{"a", 1}, {"b", 0}, {"ab", 2}};
  folder.write("other/tokenizer.json", json.dump());
  const auto a = open_tokenizer(folder.path("a")), more = open_tokenizer(folder.path("more")),
             other = open_tokenizer(folder.path("other"));
  CHECK(fingerprint(*a) == fingerprint(*open_tokenizer(folder.path("a"))));
  CHECK(fingerprint(*a) != fingerprint(*more));
  CHECK(fingerprint(*a) != fingerprint(*other));
  CHECK_FALSE(first_difference(*a, *more));
  CHECK(first_difference(*a, *other) == 0);
}

}  // namespace trainx::tokenizer::folder_tokenizer_test
