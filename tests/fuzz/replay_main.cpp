// Replays the committed corpus without libFuzzer: seeds, and inputs that once ended otherwise than
// they should.
//   fuzz_replay CORPUS_FOLDER      (scripts/test --fuzz looks for new ones)
#include "fuzz/targets.hpp"
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace trainx::fuzz;

struct Target {
  const char* name;
  void (*run)(Bytes);
};
constexpr Target targets[] = {{"safetensors", fuzz_safetensors},
                              {"tokens", fuzz_tokens},
                              {"text", fuzz_text},
                              {"jsonl", fuzz_jsonl},
                              {"csv", fuzz_csv},
                              {"recipe", fuzz_recipe},
                              {"config", fuzz_config},
                              {"import", fuzz_import},
                              {"tokenizer", fuzz_tokenizer},
                              {"corpus", fuzz_corpus}};

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS_FOLDER\n");
    return 2;
  }
  int failures = 0;
  for (const Target& target : targets) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(arguments[1]) / target.name))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) ++failures;
    std::printf("%s: %zu files\n", target.name, files.size());
    for (const fs::path& file : files) {
      std::printf("  %s\n", file.filename().c_str());
      std::fflush(stdout);  // the last name before a crash is the culprit's
      const std::string contents = contents_of(file);
      try {
        target.run(std::as_bytes(std::span(contents)));
      } catch (const std::exception& e) {
        std::printf("    %s\n", e.what());
        ++failures;
      }
    }
  }
  return failures == 0 ? 0 : 1;
}
