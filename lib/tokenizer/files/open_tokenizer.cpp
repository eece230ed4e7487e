#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "tokenizer/files/read_json.hpp"
#include "tokenizer/files/sentence_piece.hpp"
#include "tokenizer/files/tokenizer_json.hpp"
#include "tokenizer/files/vocab_files.hpp"
#include "tokenizer/tokenizer.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::tokenizer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json read_settings(const std::string& path) {
  if (!fs::is_regular_file(path)) return json::object();
  json settings = parse_tokenizer_json(read_tokenizer_file(path), path);
  if (!settings.is_object()) throw UserError(ExitCode::bad_data, path + " is no JSON object");
  return settings;
}

std::unique_ptr<Tokenizer> open_file(const std::string& path) {
  const fs::path file(path);
  const std::string folder = folder_of(path), name = file.filename().string();
  if (name == "vocab.json" || name == "merges.txt")
    return make_tokenizer(read_gpt2_files(folder + "/vocab.json", folder + "/merges.txt"));
  if (file.extension() == ".json")
    return make_tokenizer(read_tokenizer_json(read_tokenizer_file(path), path));
  if (file.extension() == ".model") return open_sentence_piece(path);
  if (file.extension() == ".txt") {
    const json settings = read_settings(folder + "/tokenizer_config.json");
    const auto lower = settings.find("do_lower_case");
    return make_tokenizer(read_bert_vocab(
        path, lower == settings.end() || !lower->is_boolean() || lower->get<bool>()));
  }
  throw UserError(ExitCode::bad_data,
                  path +
                      " is no file of a tokenizer that trainx knows: tokenizer.json, a "
                      "SentencePiece *.model, vocab.json with merges.txt, or vocab.txt");
}

/// Empty where there is none.
std::string find_file(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model",
                           "sentencepiece.bpe.model", "vocab.json", "vocab.txt"})
    if (fs::is_regular_file(folder + "/" + name)) return folder + "/" + name;
  return "";
}

std::string file_in(const std::string& folder) {
  if (const std::string file = find_file(folder); !file.empty()) return file;
  throw UserError(ExitCode::input_missing,
                  folder +
                      " holds no tokenizer: neither tokenizer.json, nor tokenizer.model, nor "
                      "vocab.json and merges.txt, nor vocab.txt");
}

/// What tokenizer_config.json calls the end of a text: "</s>", or {"content": "</s>", ...}.
std::string named_end(const json& settings) {
  auto token = settings.find("eos_token");
  if (token != settings.end() && token->is_object())
    return token->value("content", json()).is_string() ? (*token)["content"].get<std::string>()
                                                       : "";
  return token != settings.end() && token->is_string() ? token->get<std::string>() : "";
}

void find_end_of_text(Tokenizer& tokenizer, const std::string& folder) {
  if (const std::string name = named_end(read_settings(folder + "/tokenizer_config.json"));
      !name.empty())
    return tokenizer.set_end_of_text(tokenizer.id_of(name));
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
    if (tokenizer.end_of_text() < 0) tokenizer.set_end_of_text(tokenizer.id_of(name));
}

void check_fits_model(const Tokenizer& tokenizer, const std::string& folder) {
  const std::string path = folder + "/config.json";
  const json config = read_settings(path);
  const auto size = config.find("vocab_size");
  if (size == config.end() || !size->is_number_integer() ||
      size->get<std::int64_t>() >= tokenizer.vocab_size())
    return;
  throw UserError(ExitCode::bad_data,
                  path + ": the model's vocab_size is " + size->dump() + ", but the tokenizer " +
                      tokenizer.path() + " has ids up to " +
                      std::to_string(tokenizer.vocab_size() - 1) + ": they do not belong together");
}

}  // namespace

bool has_tokenizer(const std::string& folder) { return !find_file(folder).empty(); }

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  std::error_code error;
  const auto snapshot = fs::exists(name, error) ? std::nullopt : find_in_hub_cache(name);
  const std::string path = snapshot ? snapshot->folder : name;
  if (!fs::exists(path, error))
    throw UserError(ExitCode::input_missing, missing_folder(name, "tokenizer"));
  const std::string file = fs::is_directory(path, error) ? file_in(path) : path;
  auto tokenizer = open_file(file);
  tokenizer->set_path(file);
  find_end_of_text(*tokenizer, folder_of(file));
  check_fits_model(*tokenizer, folder_of(file));
  return tokenizer;
}

}  // namespace trainx::tokenizer
