// Replays the committed corpus without libFuzzer: seeds, and inputs that once ended otherwise than
// they should; then a few mutants of each.
//   fuzz_replay CORPUS_FOLDER [SEED]      (scripts/test --fuzz looks for new ones)
#include "fuzz/mutators/mutators.hpp"
#include "fuzz/targets.hpp"
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace trainx::fuzz;

struct Target {
  const char* name;
  void (*run)(Bytes, const Ways&);
  Mutate* mutate = nullptr;
};
constexpr Target targets[] = {{"safetensors", fuzz_safetensors, mutate_safetensors},
                              {"tokens", fuzz_tokens},
                              {"text", fuzz_text},
                              {"jsonl", fuzz_jsonl, mutate_jsonl},
                              {"csv", fuzz_csv},
                              {"recipe", fuzz_recipe, mutate_recipe},
                              {"config", fuzz_config, mutate_config},
                              {"import", fuzz_import, mutate_import},
                              {"tokenizer", fuzz_tokenizer, mutate_tokenizer},
                              {"corpus", fuzz_corpus},
                              {"greeting", fuzz_greeting}};

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// 1 where the target breaks a promise.
int try_input(const Target& target, const std::string& input) {
  try {
    target.run(std::as_bytes(std::span(input)), Ways::all());
    return 0;
  } catch (const std::exception& e) {
    std::printf("    %s\n", e.what());
    return 1;
  }
}

int try_mutants(const Target& target, const std::vector<std::string>& inputs, std::uint64_t seed) {
  constexpr int mutants = 32;
  constexpr std::size_t longest = 16384;
  int failures = 0, made = 0;
  Random random(seed);
  for (const std::string& input : inputs) {
    if (input.size() > longest) continue;
    for (int i = 0; i < mutants; ++i) {
      const std::string& other = random.pick(inputs);
      const std::string mutant =
          target.mutate(input, other.size() > longest ? input : other, random);
      if (mutant.empty() || mutant.size() > longest) continue;
      ++made;
      if (const int failed = try_input(target, mutant)) {
        failures += failed;
        std::printf("    with the seed %llu, of the mutant:\n%s\n",
                    static_cast<unsigned long long>(seed), mutant.c_str());
      }
    }
  }
  std::printf("  %d mutants\n", made);
  return made > 0 ? failures : failures + 1;  // it knows the form of no seed
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS_FOLDER [SEED]\n");
    return 2;
  }
  const std::uint64_t seed = count == 3 ? std::stoull(arguments[2]) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  int failures = 0;
  for (const Target& target : targets) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(arguments[1]) / target.name))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) ++failures;
    std::printf("%s: %zu files\n", target.name, files.size());
    std::vector<std::string> inputs;
    for (const fs::path& file : files) {
      std::printf("  %s\n", file.filename().c_str());
      std::fflush(stdout);  // the last name before a crash is the culprit's
      failures += try_input(target, inputs.emplace_back(contents_of(file)));
    }
    if (target.mutate) failures += try_mutants(target, inputs, seed);
  }
  return failures == 0 ? 0 : 1;
}
