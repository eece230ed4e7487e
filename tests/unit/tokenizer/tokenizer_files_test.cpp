#include "tokenizer/tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include "unit/data/scratch_folder.hpp"
#include <nlohmann/json.hpp>
#include <cstdio>
#include <random>

namespace trainx::tokenizer::tokenizer_files_test {
namespace {

using data::ScratchFolder;
using nlohmann::json;

json small_bpe() {
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 6}, {"content", "<s>"}, {"special", true}},
            {{"id", 7}, {"content", "ab ab"}, {"special", false}, {"normalized", false}}}},
          {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"vocab", {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"abab", 4}, {"c", 5}}},
            {"merges", {"a b", "ab ab"}}}}};
}

std::unique_ptr<Tokenizer> open(const json& contents) {
  const ScratchFolder folder;
  return open_tokenizer(folder.write("tokenizer.json", contents.dump()));
}

Ids encode(const Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  tokenizer.make_encoder()->append(text, ids);
  return ids;
}

void expect_refused(const std::string& path, json contents, const std::vector<std::string>& says) {
  const ScratchFolder folder;
  const std::string file = folder.write("tokenizer.json", contents.dump());
  INFO(path);
  std::vector<std::string> all{file, path};
  all.insert(all.end(), says.begin(), says.end());
  data::expect_user_error(ExitCode::bad_data, all, [&] { open_tokenizer(file); });
}

}  // namespace

TEST_CASE("a tokenizer.json encodes and decodes") {
  const auto t = open(small_bpe());
  CHECK(t->vocab_size() == 8);
  CHECK(encode(*t, "ab abab  c") == Ids{7, 3, 5});  // the longest added token first
  CHECK(encode(*t, "<s>ababc x") == Ids{6, 4, 5, 0});
  CHECK(encode(*t, "").empty());
  const Ids ids{6, 4, 5, 99, -1};
  CHECK(t->decode(ids, false) == "<s> abab c");
  CHECK(t->decode(ids, true) == "abab c");
  CHECK(t->id_of("abab") == 4);
  CHECK(t->id_of("nothing") == -1);
  CHECK(t->token_of(7) == "ab ab");
}

namespace {

json small_unigram() {
  const json vocab =
      json::parse(R"([["<unk>", 0], ["a", -2], ["b", -3], ["ab", -4], ["abb", -9.5], ["c", -1]])");
  return {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
}

}  // namespace

TEST_CASE("a unigram model takes the tokens with the highest sum of scores") {
  const auto t = open(small_unigram());
  CHECK(encode(*t, "ab") == Ids{3});                    // -4 beats -5
  CHECK(encode(*t, "abb") == Ids{3, 2});                // -7 beats -9.5
  CHECK(encode(*t, "xyab\u00e9c") == Ids{0, 3, 0, 5});  // neighbours that are unknown are one
  CHECK(encode(*t, "").empty());
  json twice = small_unigram();
  twice["model"]["vocab"].push_back({"a", -0.5});
  const auto last = open(twice);  // of a token that comes twice the last score and id count
  CHECK(encode(*last, "ab") == Ids{6, 2});
  CHECK(last->decode(Ids{1, 6}, false) == "a a");
  json bytes = small_unigram();
  bytes["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    bytes["model"]["vocab"].push_back({name, -30.0});
  }
  CHECK(encode(*open(bytes), "a\u00e9") == Ids{1, 6 + 0xc3, 6 + 0xa9});
}

TEST_CASE("malformed unigram models are refused") {
  const auto changed = [](const std::string& pointer, const json& value) {
    json out = small_unigram();
    out[json::json_pointer(pointer)] = value;
    return out;
  };
  expect_refused("model.vocab[1]", changed("/model/vocab/1", json{"a", "b"}), {"[token, score]"});
  expect_refused("model.vocab[2]", changed("/model/vocab/2/0", ""), {"empty"});
  expect_refused("model.vocab[2]", changed("/model/vocab/2/0", std::string(1025, 'a')),
                 {"1024 bytes"});
  expect_refused("model.vocab", changed("/model/vocab", json::array()), {"no list"});
  expect_refused("model.unk_id", changed("/model/unk_id", 6), {"0 to 5"});
  expect_refused("model", changed("/model/alpha", 0.1), {"'alpha'"});
  expect_refused("model", changed("/pre_tokenizer", {{"type", "ByteLevel"}}), {"ByteLevel"});
  const auto without = open(changed("/model/unk_id", nullptr));
  CHECK(encode(*without, "ab") == Ids{3});
  data::expect_user_error(ExitCode::bad_data, {"model.unk_id", "'x'"},
                          [&] { encode(*without, "ax"); });
}

TEST_CASE("an encoder that has met more words than it keeps goes on to find their tokens") {
  const auto t = open(small_bpe());
  const auto encoder = t->make_encoder();
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    std::string word;
    for (int k = 0; k < 20; ++k) word.push_back("abc"[random() % 3]);
    Ids known, anew;
    encoder->append(word, known);
    if (i % 1000 != 0) continue;
    encoder->append(word, anew);
    REQUIRE(known == anew);
    REQUIRE(t->decode(known, false).size() >= word.size());
  }
}

TEST_CASE("malformed tokenizer files are refused in a sentence with the place") {
  const auto changed = [](const std::string& pointer, const json& value) {
    json out = small_bpe();
    out[json::json_pointer(pointer)] = value;
    return out;
  };
  expect_refused("model.merges[1]", changed("/model/merges/1", "ab zz"),
                 {"'zz'", "vocabulary does not have"});
  expect_refused("model.merges[1]", changed("/model/merges/1", json{"b", "a"}), {"'ba'"});
  expect_refused("model.merges[0]", changed("/model/merges/0", "a b c"), {"left right"});
  expect_refused("model.merges[0]", changed("/model/merges/0", 3), {});
  expect_refused("model.vocab", changed("/model/vocab/c", 3), {"id 3", "'ab'", "'c'"});
  expect_refused("model.vocab", changed("/model/vocab/c", -1), {"'c'", "no id"});
  expect_refused("model.vocab", changed("/model/vocab/c", 4e9), {"'c'"});
  expect_refused("model.vocab", changed("/model/vocab", json::object()), {"no tokens"});
  expect_refused("model.unk_token", changed("/model/unk_token", "[UNK]"), {"'[UNK]'"});
  expect_refused("model.dropout", changed("/model/dropout", 0.1), {"drawn"});
  expect_refused("model", changed("/model/type", "Unigram"), {"'merges'"});
  expect_refused("model", changed("/model/type", "WordLevel"), {"'WordLevel' is not supported"});
  expect_refused("model", changed("/model/other", true), {"'other'"});
  expect_refused("pre_tokenizer", changed("/pre_tokenizer/type", "UnicodeScripts"),
                 {"'UnicodeScripts' is not supported"});
  expect_refused("pre_tokenizer", changed("/pre_tokenizer/type", "Bytelevel"),
                 {"did you mean 'ByteLevel'"});
  const auto precompiled = [&](const std::string& table) {
    return changed("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", table}});
  };
  const std::string charsmap = "normalizer.precompiled_charsmap";
  expect_refused(charsmap, precompiled(""), {"cut off"});
  expect_refused(charsmap, precompiled("AAAAA"), {"base64"});
  expect_refused(charsmap, precompiled("AA?="), {"base64"});
  expect_refused(charsmap, precompiled("AAAAAA=="), {"no trie"});
  expect_refused(charsmap, precompiled("/////wAAAAA="), {"cut off"});
  expect_refused(charsmap, precompiled("BAAAAAAAAAD/"), {"not UTF-8"});
  expect_refused("normalizer.pattern",
                 changed("/normalizer",
                         {{"type", "Replace"}, {"pattern", {{"String", ""}}}, {"content", "x"}}),
                 {"Regex"});
  expect_refused(
      "normalizer.pattern",
      changed("/normalizer",
              {{"type", "Replace"}, {"pattern", {{"Regex", "(?P<x>a)"}}}, {"content", "x"}}),
      {"(?P"});
  expect_refused("decoder", changed("/decoder", {{"type", "CTC"}}), {"'CTC' is not supported"});
  expect_refused("post_processor.special_tokens",
                 changed("/post_processor",
                         {{"type", "TemplateProcessing"},
                          {"single", {{{"SpecialToken", {{"id", "[CLS]"}, {"type_id", 0}}}}}},
                          {"pair", json::array()},
                          {"special_tokens", json::object()}}),
                 {"'[CLS]'"});
  expect_refused("added_tokens[0].id", changed("/added_tokens/0/id", 5), {"'c'"});
  expect_refused("added_tokens[0].id", changed("/added_tokens/0/content", "c"), {"as 5"});
  expect_refused("added_tokens[1]", changed("/added_tokens/1/id", 6), {"second time"});
  expect_refused("added_tokens[1].content", changed("/added_tokens/1/content", ""), {"empty"});
  expect_refused("model", json{{"version", "1.0"}}, {"missing"});
  json nested = {{"type", "NFC"}};
  for (int i = 0; i < 30; ++i) nested = {{"type", "Sequence"}, {"normalizers", {nested}}};
  expect_refused("normalizers[0]", changed("/normalizer", nested), {"too deep"});
  json bytes_first = changed(
      "/pre_tokenizer",
      {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Digits"}}}}});
  expect_refused("pretokenizers[1]", bytes_first, {"last"});
}

TEST_CASE("malformed JSON is refused with line and column, other files by their names") {
  const ScratchFolder folder;
  const std::string broken = folder.write("tokenizer.json", "{\n  \"model\": {,}\n}");
  data::expect_user_error(ExitCode::bad_data, {broken + ":2:13: malformed JSON"},
                          [&] { open_tokenizer(broken); });
  const std::string deep = folder.write("deep.json", std::string(100'000, '['));
  data::expect_user_error(ExitCode::bad_data, {deep, "nests deeper"},
                          [&] { open_tokenizer(deep); });
  const std::string latin = folder.write("latin.json", "{\"a\": \"\xe9\"}");
  data::expect_user_error(ExitCode::bad_data, {latin, "UTF-8"}, [&] { open_tokenizer(latin); });
  const std::string model = folder.write("spm.model", "no model");
  data::expect_user_error(ExitCode::bad_data, {model, "SentencePiece"},
                          [&] { open_tokenizer(model); });
  const std::string other = folder.write("other.zip", "x");
  data::expect_user_error(ExitCode::bad_data, {other, "tokenizer.json"},
                          [&] { open_tokenizer(other); });
  data::expect_user_error(ExitCode::input_missing, {"nowhere"},
                          [&] { open_tokenizer(folder.path("nowhere")); });
  folder.write("empty/readme", "");
  data::expect_user_error(ExitCode::input_missing, {"holds no tokenizer"},
                          [&] { open_tokenizer(folder.path("empty")); });
}

TEST_CASE("vocab.json with merges.txt, and vocab.txt") {
  const ScratchFolder folder;
  folder.write("gpt/vocab.json",
               R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4, "<|endoftext|>": 5})");
  folder.write("gpt/merges.txt", "#version: 0.2\na b\nĠ ab\n");
  const auto gpt = open_tokenizer(folder.path("gpt"));
  CHECK(encode(*gpt, "ab ab<|endoftext|>b") == Ids{2, 4, 5, 1});
  CHECK(gpt->end_of_text() == 5);
  CHECK(gpt->decode(Ids{2, 4, 5}, true) == "ab ab");
  folder.write("gpt/merges.txt", "#version: 0.2\na b\nĠ ba\n");
  data::expect_user_error(ExitCode::bad_data, {"merges.txt:3:", "'ba'"},
                          [&] { open_tokenizer(folder.path("gpt")); });
  folder.write("gpt/merges.txt", "a b\r\nab\r\n");
  data::expect_user_error(ExitCode::bad_data, {"merges.txt:2:", "blank between"},
                          [&] { open_tokenizer(folder.path("gpt")); });

  folder.write("bert/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n##s\nworld\n");
  const auto bert = open_tokenizer(folder.path("bert"));
  const auto sample = bert->sample(encode(*bert, "Héllos"), encode(*bert, "world WORLDS!"), true);
  CHECK(sample.ids == Ids{2, 4, 5, 3, 6, 6, 5, 1, 3});
  CHECK(sample.type_ids == Ids{0, 0, 0, 0, 1, 1, 1, 1, 1});
  folder.write("bert/vocab.txt", "[UNK]\nhello\nhello\n");
  data::expect_user_error(ExitCode::bad_data, {"vocab.txt:3:", "'hello'"},
                          [&] { open_tokenizer(folder.path("bert")); });
  folder.write("bert/vocab.txt", "[PAD]\nhello\n");
  data::expect_user_error(ExitCode::bad_data, {"vocab.txt", "'[UNK]'"},
                          [&] { open_tokenizer(folder.path("bert")); });
}

TEST_CASE("a tokenizer that does not fit the model beside it is refused") {
  const ScratchFolder folder;
  folder.write("tokenizer.json", small_bpe().dump());
  folder.write("config.json", R"({"vocab_size": 8})");
  CHECK(open_tokenizer(folder.path())->vocab_size() == 8);
  folder.write("config.json", R"({"vocab_size": 7})");
  data::expect_user_error(ExitCode::bad_data, {"config.json", "vocab_size is 7", "ids up to 7"},
                          [&] { open_tokenizer(folder.path()); });
}

}  // namespace trainx::tokenizer::tokenizer_files_test
