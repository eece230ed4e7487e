#include "data/files/about_file.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "scratch_folder.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>

namespace trainx::data::about_file_test {

TEST_CASE("FILE.json names the tokenizer relative to itself") {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  folder.write("tok/tokenizer.json", "{}");
  make_folders(folder.path("data"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  AboutFile about;
  about.tokenizer = "tok/tokenizer.json";
  about.tokenizer_hash = "abc";
  about.vocab_size = 12;
  about.mask_token = 4;
  about.special_tokens = {0, 4};
  nlohmann::ordered_json json;
  add_tokenizer(about, "data/a.jsonl", json);
  write_about("data/a.jsonl", json);
  CHECK(json["tokenizer"] == "../tok/tokenizer.json");
  fs::current_path(before);  // found from wherever the file is named
  const AboutFile read = read_about(folder.path("data/a.jsonl"));
  CHECK(fs::equivalent(read.tokenizer, folder.path("tok/tokenizer.json")));
  CHECK(read.tokenizer_hash == "abc");
  CHECK(read.vocab_size == 12);
  CHECK(read.mask_token == 4);
  CHECK(read.special_tokens == about.special_tokens);
  // absolute paths stay
  about.tokenizer = folder.path("tok/tokenizer.json");
  add_tokenizer(about, folder.path("data/a.jsonl"), json);
  CHECK(json["tokenizer"] == about.tokenizer);
  // files written before paths were relative to them
  fs::current_path(folder.path());
  write_about("data/b.jsonl", {{"tokenizer", "tok/tokenizer.json"}});
  CHECK(read_about("data/b.jsonl").tokenizer == "tok/tokenizer.json");
  fs::current_path(before);
}

}  // namespace trainx::data::about_file_test
