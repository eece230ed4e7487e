#include "facts/tokenizers.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "data/files/about_file.hpp"
#include "data/files/file_list.hpp"
#include "tokenizer/fingerprint.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::facts {
namespace {

namespace fs = std::filesystem;

struct DataFile {
  std::string path;
  data::AboutFile about;
};

/// Of all files to train on that say something of their tokenizer.
std::vector<DataFile> files_with_tokenizer(const options::DataOptions& options) {
  std::vector<DataFile> out;
  options::for_each_source(options, [&](const auto& source) {
    if constexpr (requires { source.train.names; })
      for (const std::string& path : data::expand(source.train)) {
        DataFile file{path, data::read_about(path)};
        if (file.about.vocab_size > 0 || !file.about.tokenizer.empty())
          out.push_back(std::move(file));
      }
  });
  return out;
}

bool is_there(const std::string& path) {
  std::error_code error;
  return !path.empty() && fs::exists(path, error);
}

/// Null for one that trainx does not open: whoever needs its tokens says why.
std::unique_ptr<tokenizer::Tokenizer> open_if_possible(const std::string& path) {
  try {
    return is_there(path) ? tokenizer::open_tokenizer(path) : nullptr;
  } catch (const UserError&) { return nullptr; }
}

/// Whether both folders hold the same files of a tokenizer, so that neither need be opened.
bool hold_same_files(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  bool any = false;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "added_tokens.json",
                           "special_tokens_map.json", "vocab.json", "merges.txt", "vocab.txt",
                           "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    const std::string of_a = a + "/" + name, of_b = b + "/" + name;
    if (is_there(of_a) != is_there(of_b)) return false;
    if (!is_there(of_a)) continue;
    if (hash_file_hex(of_a) != hash_file_hex(of_b)) return false;
    any = true;
  }
  return any;
}

void check_same_tokens(const DataFile& file, const std::string& folder) {
  const data::AboutFile& about = file.about;
  if (about.tokenizer.empty()) return;
  if (is_there(about.tokenizer) && hold_same_files(folder_of(about.tokenizer), folder)) return;
  const auto of_model = open_if_possible(folder);
  if (!of_model || tokenizer::fingerprint(*of_model) == about.tokenizer_hash) return;
  const auto of_data = open_if_possible(about.tokenizer);
  if (!of_data && about.tokenizer_hash.empty()) return;
  const auto differs = of_data ? tokenizer::first_difference(*of_data, *of_model)
                               : std::optional<std::int64_t>(0);
  if (!differs) return;
  const std::string where = of_data ? "; id " + std::to_string(*differs) + " is another token" : "";
  throw UserError(ExitCode::invalid_recipe,
                  "data.train: " + file.path + " was made with the tokenizer " + about.tokenizer +
                      ", model.init_from has another one, " + of_model->path() + where +
                      ": tokenize the text again with --tokenizer " + folder);
}

MaskingFacts masking_of(const tokenizer::Tokenizer& tokenizer) {
  const auto& named = tokenizer.named();
  return {tokenizer.path(), named.mask, {named.special.begin(), named.special.end()}};
}

std::optional<MaskingFacts> find_masking(const std::vector<DataFile>& files,
                                         const std::optional<std::string>& folder) {
  for (const DataFile& file : files) {
    if (file.about.mask_token && !file.about.special_tokens.empty())
      return MaskingFacts{file.path + ".json", *file.about.mask_token, file.about.special_tokens};
    if (const auto tokenizer = open_if_possible(file.about.tokenizer))
      return masking_of(*tokenizer);
  }
  if (folder && tokenizer::has_tokenizer(*folder))
    if (const auto tokenizer = open_if_possible(*folder)) return masking_of(*tokenizer);
  return std::nullopt;
}

}  // namespace

void look_at_tokenizers(const recipe::Recipe& recipe, Facts& facts) {
  const auto& folder = recipe.model.init_from;
  const auto files = files_with_tokenizer(recipe.data.source);
  for (const DataFile& file : files)
    facts.data.vocab_size = std::max(facts.data.vocab_size, file.about.vocab_size);
  if (folder && tokenizer::has_tokenizer(*folder))
    for (const DataFile& file : files) check_same_tokens(file, *folder);
  if (architectures::task(recipe.model.options) == architectures::Task::masked_lm)
    facts.masking = find_masking(files, folder);
}

}  // namespace trainx::facts
