#include "core/hub_cache.hpp"
#include "support/catch.hpp"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trainx::hub_cache_test {
namespace {

namespace fs = std::filesystem;

/// A cache in a folder of its own, which HF_HUB_CACHE names.
struct MadeCache {
  MadeCache() {
    std::string name = (fs::temp_directory_path() / "trainx_hub_XXXXXX").string();
    folder = ::mkdtemp(name.data());
    ::setenv("HF_HUB_CACHE", folder.c_str(), 1);
  }
  ~MadeCache() {
    ::unsetenv("HF_HUB_CACHE");
    fs::remove_all(folder);
  }
  fs::path add(const std::string& model, const std::string& revision,
               const std::string& main = "") const {
    fs::create_directories(folder / model / "snapshots" / revision);
    fs::create_directories(folder / model / "refs");
    if (!main.empty()) std::ofstream(folder / model / "refs" / "main") << main << "\n";
    return folder / model / "snapshots" / revision;
  }
  fs::path folder;
};

}  // namespace

TEST_CASE("ids of the hub are told from paths") {
  for (const char* id : {"gpt2", "openai-community/gpt2", "bert-base-uncased", "org/a.b_c-1"})
    CHECK(is_hub_id(id));
  for (const char* path :
       {"", "/gpt2", "./gpt2", "../gpt2", "a/b/c", "models/", "a b", "~/gpt2", "a--b", "org/.x"})
    CHECK_FALSE(is_hub_id(path));
}

TEST_CASE("a model of the cache is found by its id: the revision of refs/main, else the only one") {
  const MadeCache cache;
  const auto main = cache.add("models--gpt2", "aaaa1111", "aaaa1111");
  cache.add("models--gpt2", "bbbb2222");
  const auto only = cache.add("models--org--name", "cccc3333");
  cache.add("models--two", "1");
  cache.add("models--two", "2");
  cache.add("models--torn", "there", "not_there");
  REQUIRE(find_in_hub_cache("gpt2"));
  CHECK(find_in_hub_cache("gpt2")->folder == main.string());
  CHECK(find_in_hub_cache("gpt2")->revision == "aaaa1111");
  REQUIRE(find_in_hub_cache("org/name"));
  CHECK(find_in_hub_cache("org/name")->folder == only.string());
  CHECK_FALSE(find_in_hub_cache("two"));
  CHECK_FALSE(find_in_hub_cache("torn"));
  CHECK_FALSE(find_in_hub_cache("none"));
  CHECK_FALSE(find_in_hub_cache("../gpt2"));
  const auto back = hub_snapshot_of(only.string());
  REQUIRE(back);
  CHECK(back->id == "org/name");
  CHECK(back->revision == "cccc3333");
  CHECK_FALSE(hub_snapshot_of("/models/gpt2"));
}

TEST_CASE("the cache's folder goes by Hugging Face's variables, in their order") {
  const auto with = [](const char* name, const char* value) {
    ::setenv(name, value, 1);
    return hub_cache_folder();
  };
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
    ::unsetenv(name);
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  CHECK(with("HOME", "/home/me") == "/home/me/.cache/huggingface/hub");
  CHECK(with("XDG_CACHE_HOME", "/xdg") == "/xdg/huggingface/hub");
  CHECK(with("HF_HOME", "/hf") == "/hf/hub");
  CHECK(with("HUGGINGFACE_HUB_CACHE", "/old") == "/old");
  CHECK(with("HF_HUB_CACHE", "/new") == "/new");
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
    ::unsetenv(name);
  ::setenv("HOME", home.c_str(), 1);
}

TEST_CASE("what is missing is told with how to get it") {
  CHECK(
      missing_folder("org/name", "model.init_from").find("hf download org/name --local-dir name") !=
      std::string::npos);
  CHECK(missing_folder("/data/gpt2", "model.init_from").find("hf download") == std::string::npos);
}

}  // namespace trainx::hub_cache_test
