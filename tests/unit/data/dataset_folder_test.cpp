#include "data/files/dataset_folder.hpp"
#include "data/files/file_list.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"

namespace trainx::data::dataset_folder_test {
namespace {

std::vector<std::string> names(const ScratchFolder& folder, const std::string& sub,
                               const std::string& split = "") {
  std::vector<std::string> out;
  for (const std::string& path : files_of_folder(folder.path(sub), split).paths)
    out.push_back(path.substr(folder.path(sub).size() + 1));
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a file's split is in its name or its folder's") {
  for (const char* path : {"train-00000-of-00002.parquet", "data/train/a.jsonl", "my_train.csv",
                           "Training.txt", "train0.jsonl"})
    CHECK(split_of(path) == "train");
  for (const char* path : {"validation.jsonl", "val-1.csv", "a_dev.txt", "valid/x.txt"})
    CHECK(split_of(path) == "validation");
  for (const char* path : {"test-00000-of-00001.parquet", "eval.jsonl"})
    CHECK(split_of(path) == "test");
  for (const char* path : {"trains.txt", "latest.txt", "part-00000.jsonl", "README.md"})
    CHECK(split_of(path).empty());
  CHECK(split_named("dev") == "validation");
  expect_user_error(ExitCode::usage, {"--split", "'trainn'"}, [] { split_named("trainn"); });
}

TEST_CASE("a folder of several splits is read by one of them") {
  const ScratchFolder folder;
  for (const char* name :
       {"a/data/train-00000-of-00002.parquet", "a/data/train-00001-of-00002.parquet",
        "a/data/validation-00000-of-00001.parquet", "a/data/test-00000-of-00001.parquet",
        "a/README.md"})
    folder.write(name, "x");
  CHECK(names(folder, "a") ==
        Names{"data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"});
  CHECK(names(folder, "a", "test") == Names{"data/test-00000-of-00001.parquet"});
  const std::string note = files_of_folder(folder.path("a"), "").note;
  for (const char* part : {"train (2)", "validation (1)", "test (1)", "no split (1)", "--split"})
    CHECK(note.find(part) != std::string::npos);
  // no shards, and one split alone: a folder like any other
  folder.write("b/train.txt", "x");
  folder.write("b/boat.txt", "x");
  CHECK(names(folder, "b") == Names{"boat.txt", "train.txt"});
  CHECK(files_of_folder(folder.path("b"), "").note.empty());
  folder.write("c/test.jsonl", "x");
  folder.write("c/dev.jsonl", "x");
  expect_user_error(ExitCode::input_missing, {"no split train", "validation (1)", "--split"},
                    [&] { files_of_folder(folder.path("c"), ""); });
  CHECK(names(folder, "c", "validation") == Names{"dev.jsonl"});
}

TEST_CASE("what save_to_disk wrote is read by its Arrow files") {
  const ScratchFolder folder;
  for (const char* name :
       {"one/data-00000-of-00001.arrow", "one/state.json", "one/dataset_info.json"})
    folder.write(name, "x");
  CHECK(names(folder, "one") == Names{"data-00000-of-00001.arrow"});
  for (const char* split : {"train", "test"})
    for (const char* name : {"/data-00000-of-00001.arrow", "/state.json", "/dataset_info.json"})
      folder.write(std::string("all/") + split + name, "x");
  folder.write("all/dataset_dict.json", "{\"splits\": [\"train\", \"test\"]}");
  CHECK(names(folder, "all") == Names{"train/data-00000-of-00001.arrow"});
  CHECK(names(folder, "all", "test") == Names{"test/data-00000-of-00001.arrow"});
}

TEST_CASE("a recipe's data.train and data.eval may be one folder of several splits") {
  const ScratchFolder folder;
  for (const char* name : {"d/train.jsonl", "d/validation.jsonl", "d/test.jsonl"})
    folder.write(name, "x");
  CHECK(expand(folder.path("d")) == Names{folder.path("d/train.jsonl")});
  CHECK(expand(folder.path("d"), Split::eval) == Names{folder.path("d/validation.jsonl")});
  options::JsonlOptions options{folder.path("d"), options::FileList(folder.path("d")), false};
  CHECK_NOTHROW(check_files(options));
  folder.write("e/a.jsonl", "x");
  CHECK(expand(folder.path("e")) == Names{folder.path("e")});
}

}  // namespace trainx::data::dataset_folder_test
