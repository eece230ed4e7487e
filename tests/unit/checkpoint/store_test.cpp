#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <fstream>

namespace store_test {

using namespace trainx;
using namespace trainx::checkpoint;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}
using Names = std::vector<std::string>;

void flip_byte(const std::string& path, std::size_t at) {
  std::string bytes = read_file(path);
  bytes.at(at) ^= 0x10;
  write_file_atomic(path, bytes);
}

}  // namespace

TEST_CASE("a saved checkpoint holds its files, is sound, and is the latest") {
  const TemporaryFolder run;
  Store store(run / "outputs/run");
  CHECK(store.list().empty());
  CHECK(store.newest_valid(nullptr).path.empty());
  const std::string path = store.save(10, contents_of(1), 2, true);
  CHECK(path == run / "outputs/run/checkpoint-10");
  CHECK(names_in(path) == Names{"config.json", "manifest.json", "model.safetensors",
                                "optimizer.safetensors", "trainer_state.json"});
  CHECK(names_in(run / "outputs/run") == Names{"best", "checkpoint-10", "latest"});
  CHECK(fs::read_symlink(run / "outputs/run/latest") == "checkpoint-10");
  CHECK(store.verify(path) == "");
  CHECK(store.verify(run / "outputs/run/latest") == "");
  const SafetensorsReader model(path + "/model.safetensors");
  const auto want = bytes_from(4000, 1);
  const auto& got = model.tensors().at("w");
  CHECK(std::equal(want.begin(), want.end(), got.data.begin(), got.data.end()));
  CHECK(read_file(path + "/config.json") == "{\"seed\": 1}");
}

TEST_CASE("the newest are kept, and best for ever") {
  const TemporaryFolder run;
  Store store(run.path());
  for (const int step : {5, 10, 15, 20, 100})
    store.save(step, contents_of(static_cast<unsigned>(step)), 2, step == 5 || step == 10);
  CHECK(names_in(run.path()) ==
        Names{"best", "checkpoint-10", "checkpoint-100", "checkpoint-20", "latest"});
  CHECK(fs::read_symlink(run / "best") == "checkpoint-10");
  CHECK(fs::read_symlink(run / "latest") == "checkpoint-100");
  std::vector<std::int64_t> steps;
  for (const Found& f : store.list()) steps.push_back(f.step);
  CHECK(steps == std::vector<std::int64_t>{10, 20, 100});
  CHECK(store.prune(1) == Names{run / "checkpoint-20"});
  CHECK(names_in(run.path()) == Names{"best", "checkpoint-10", "checkpoint-100", "latest"});
}

TEST_CASE("damage is named, and the older checkpoint is used") {
  const TemporaryFolder run;
  Store store(run.path());
  store.save(1, contents_of(1), 5, false);
  const std::string path = store.save(2, contents_of(2), 5, false);
  std::string want;
  SECTION("a flipped byte in a tensor") {
    flip_byte(path + "/model.safetensors", 3000);
    want = "model.safetensors is damaged: its XXH3 hash is ";
  }
  SECTION("a flipped byte in a text") {
    flip_byte(path + "/config.json", 9);
    want = "config.json is damaged: its XXH3 hash is ";
  }
  SECTION("a missing file") {
    fs::remove(path + "/optimizer.safetensors");
    want = "optimizer.safetensors: No such file or directory";
  }
  SECTION("a truncated file") {
    fs::resize_file(path + "/model.safetensors", 100);
    want = "model.safetensors has 100 bytes instead of ";
  }
  SECTION("no manifest") {
    fs::remove(path + "/manifest.json");
    want = "manifest.json is missing";
  }
  SECTION("a manifest cut short") {
    fs::resize_file(path + "/manifest.json", 50);
    want = "manifest.json is not a JSON object";
  }
  SECTION("a manifest without files") {
    write_file_atomic(path + "/manifest.json", R"({"version": 1, "step": 2, "files": {}})");
    want = "manifest.json is damaged";
  }
  SECTION("a manifest that reaches outside") {
    write_file_atomic(
        path + "/manifest.json",
        R"({"version": 1, "step": 2, "files": {"../x": {"bytes": 1, "xxh3_128": ""}}})");
    want = "manifest.json is damaged: it names a file '../x'";
  }
  SECTION("a manifest of a later version") {
    write_file_atomic(path + "/manifest.json", R"({"version": 7, "step": 2, "files": {}})");
    want = "manifest.json has version 7, newer than this trainx reads (1)";
  }
  SECTION("a manifest of another step") {
    fs::copy_file(run / "checkpoint-1/manifest.json", path + "/manifest.json",
                  fs::copy_options::overwrite_existing);
    want = "manifest.json is of step 1";
  }
  std::vector<Skipped> skipped;
  const Found found = store.newest_valid(&skipped);
  CHECK(found.step == 1);
  CHECK(found.path == run / "checkpoint-1");
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].path == path);
  CHECK(skipped[0].why.substr(0, want.size()) == want);
  CHECK(store.verify(path) == skipped[0].why);

  // Pruning does not take the last sound one for a damaged one; saving the step again mends it.
  CHECK(store.prune(1).empty());
  store.save(2, contents_of(2), 5, false);
  CHECK(store.newest_valid(nullptr).step == 2);
}

TEST_CASE("every flipped byte of the manifest is noticed or harmless") {
  const TemporaryFolder run;
  Store store(run.path());
  const std::string path = store.save(3, contents_of(1, 10), 1, false);
  const std::string manifest = read_file(path + "/manifest.json");
  std::string unnoticed;
  for (std::size_t i = 0; i < manifest.size(); ++i) {
    std::string flipped = manifest;
    flipped[i] ^= 0x10;
    std::ofstream(path + "/manifest.json") << flipped;  // no fsync: there are many
    if (store.verify(path).empty()) unnoticed += manifest[i];
  }
  CHECK(unnoticed == "");
}

TEST_CASE("saving a step again replaces it, also a folder of other contents") {
  const TemporaryFolder run;
  Store store(run.path());
  store.save(4, contents_of(1), 2, true);
  write_file_atomic(run / "checkpoint-4/leftover", "x");
  const std::string path = store.save(4, contents_of(9), 2, false);
  CHECK(store.verify(path) == "");
  CHECK(read_file(path + "/config.json") == "{\"seed\": 9}");
  CHECK_FALSE(fs::exists(path + "/leftover"));
  CHECK(names_in(run.path()) == Names{"best", "checkpoint-4", "latest"});
}

TEST_CASE("leftovers of killed saves go with the next one; other names are left alone") {
  const TemporaryFolder run;
  Store store(run.path());
  make_folders(run / ".checkpoint-7.partial-999");
  write_file_atomic(run / ".checkpoint-7.partial-999/model.safetensors", "half");
  fs::create_symlink("checkpoint-7", run / ".latest.partial-999");
  for (const char* mine : {"checkpoint-07", "checkpoint-", "checkpoint-1x", "checkpoint--1",
                           ".mine.partial-1", "checkpoint-99999999999999999999"})
    make_folders(run / mine);
  write_file_atomic(run / "checkpoint-12", "a file");
  CHECK(store.list().empty());
  store.save(8, contents_of(1), 1, false);
  CHECK(names_in(run.path()) == Names{".mine.partial-1", "checkpoint-", "checkpoint--1",
                                      "checkpoint-07", "checkpoint-12", "checkpoint-1x",
                                      "checkpoint-8", "checkpoint-99999999999999999999", "latest"});
}

TEST_CASE("file names that would leave the folder or hide the manifest are a broken promise") {
  const TemporaryFolder run;
  Store store(run.path());
  for (const char* name : {"manifest.json", "../x", "", ".hidden", "a/.b", "/a", "a/", "a/b/c"}) {
    Contents contents = contents_of(1);
    contents.text_files[name] = "x";
    CHECK_THROWS_AS(store.save(1, contents, 1, false), InternalError);
    CHECK(fs::is_empty(run.path()));
  }
}

}  // namespace store_test
