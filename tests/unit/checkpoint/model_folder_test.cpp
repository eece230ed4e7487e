#include "checkpoint/carried_files.hpp"
#include "checkpoint/model_folder.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <filesystem>

namespace model_folder_test {

using namespace trainx;
using namespace trainx::checkpoint;
namespace fs = std::filesystem;

namespace {

TensorSource bytes_tensor(const std::string& name, std::int64_t n) {
  return tensor_of(name, DType::u8, {n}, bytes_from(n, 1));
}

std::vector<std::size_t> sizes_of(const std::vector<std::vector<TensorSource>>& shards) {
  std::vector<std::size_t> sizes;
  for (const auto& s : shards) sizes.push_back(s.size());
  return sizes;
}

}  // namespace

TEST_CASE("shards are cut in order, none beyond the limit unless one tensor alone is") {
  const std::vector<TensorSource> tensors{bytes_tensor("a", 4), bytes_tensor("b", 6),
                                          bytes_tensor("c", 1), bytes_tensor("d", 30),
                                          bytes_tensor("e", 10)};
  CHECK(sizes_of(cut_into_shards(tensors, 10)) == std::vector<std::size_t>{2, 1, 1, 1});
  CHECK(sizes_of(cut_into_shards(tensors, 11)) == std::vector<std::size_t>{3, 1, 1});
  CHECK(sizes_of(cut_into_shards(tensors, 51)) == std::vector<std::size_t>{5});
  CHECK(sizes_of(cut_into_shards(tensors, 1)) == std::vector<std::size_t>{1, 1, 1, 1, 1});
  CHECK(sizes_of(cut_into_shards({}, 1)) == std::vector<std::size_t>{0});
}

TEST_CASE("a written model folder reads back, in one file or in shards") {
  const TemporaryFolder folder;
  const std::int64_t limit = GENERATE(std::int64_t{1} << 30, 10);
  const std::vector<TensorSource> tensors{bytes_tensor("a", 4), bytes_tensor("b", 6),
                                          bytes_tensor("c", 9)};
  // a slash at the end changes nothing
  const std::string path = folder / "new/deep/";
  write_model_folder(path, {tensors, {{"config.json", "{}"}, {"vocab.txt", "[PAD]\n"}}, limit});
  CHECK(fs::exists(path + "model.safetensors") == (limit > 10));
  CHECK(fs::exists(path + "model-00002-of-00002.safetensors") == (limit == 10));
  CHECK(read_file(path + "vocab.txt") == "[PAD]\n");
  CHECK(read_carried_files(path) == std::map<std::string, std::string>{{"vocab.txt", "[PAD]\n"}});
  const WeightsFolder weights(path);
  CHECK(weights.tensors().size() == 3);
  CHECK(std::ranges::equal(weights.tensors().at("c").entry->data, bytes_from(9, 1)));
  CHECK(std::distance(fs::directory_iterator(folder / "new"), {}) == 1);  // nothing left aside
}

TEST_CASE("what a folder's model is used with goes along") {
  const TemporaryFolder folder;
  make_folders(folder / "additional_chat_templates");
  const std::map<std::string, std::string> files{{"tokenizer.json", "{}"},
                                                 {"chat_template.jinja", "a"},
                                                 {"additional_chat_templates/tool_use.jinja", "b"},
                                                 {"preprocessor_config.json", "{}"},
                                                 {"processor_config.json", "{}"},
                                                 {"LICENSE", "free"}};
  for (const auto& [name, text] : files) write_file_atomic(folder / name.c_str(), text);
  for (const char* other : {"additional_chat_templates/.hidden.jinja",
                            "additional_chat_templates/notes.txt", "README.md", "training.log"})
    write_file_atomic(folder / other, "x");
  CHECK(read_carried_files(folder.path()) == files);
  auto of_tokenizer = files;
  for (const char* name : {"preprocessor_config.json", "processor_config.json", "LICENSE"})
    of_tokenizer.erase(name);
  CHECK(read_tokenizer_files(folder / "tokenizer.json") == of_tokenizer);
  const std::string out = folder / "out";
  write_model_folder(out, {{bytes_tensor("a", 4)}, files, 100});
  CHECK(read_carried_files(out) == files);
}

TEST_CASE(
    "of a tokenizer its file goes along, with what belongs to it and under a name that a folder's "
    "has") {
  const TemporaryFolder folder;
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "mine.json",
        "mine.model", "mine.txt", "spiece.model", "generation_config.json", "config.json"})
    write_file_atomic(folder / name, name);
  const auto files = [&](const char* name) { return read_tokenizer_files(folder / name); };
  using Files = std::map<std::string, std::string>;
  const std::pair<const std::string, std::string> settings{"tokenizer_config.json",
                                                           "tokenizer_config.json"};
  CHECK(files("tokenizer.json") == Files{settings, {"tokenizer.json", "tokenizer.json"}});
  CHECK(files("merges.txt") ==
        Files{settings, {"vocab.json", "vocab.json"}, {"merges.txt", "merges.txt"}});
  CHECK(files("vocab.json") == files("merges.txt"));
  CHECK(files("spiece.model") == Files{settings, {"spiece.model", "spiece.model"}});
  CHECK(files("mine.json") == Files{settings, {"tokenizer.json", "mine.json"}});
  CHECK(files("mine.txt") == Files{settings, {"vocab.txt", "mine.txt"}});
  CHECK(files("mine.model") == Files{settings, {"tokenizer.model", "mine.model"}});
}

TEST_CASE("only an empty folder is written over, and a failure leaves nothing") {
  const TemporaryFolder folder;
  const ModelFolder model{{bytes_tensor("a", 4)}, {{"config.json", "{}"}}, 100};
  fs::create_directory(folder / "empty");
  write_model_folder(folder / "empty", model);
  check_error("checkpoint.model_folder/empty_there_already_not_empty", 73,
              user_error_of([&] { write_model_folder(folder / "empty", model); }));
  write_file_atomic(folder / "file", "x");
  check_error("checkpoint.model_folder/file_there_already_no_folder", 73,
              user_error_of([&] { write_model_folder(folder / "file", model); }));
  CHECK(user_error_of([&] { write_model_folder(folder / "file/below", model); }).find("73: ") == 0);
  ModelFolder failing = model;
  failing.tensors.push_back({"z", DType::u8, {1}, [](std::span<std::byte>) {
                               throw UserError(ExitCode::bad_data, "no");
                             }});
  CHECK(user_error_of([&] { write_model_folder(folder / "out", failing); }) == "65: no");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);  // empty, file
}

}  // namespace model_folder_test
