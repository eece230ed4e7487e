#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "tokenizer/files/folder_vocabulary.hpp"
#include "tokenizer/files/read_json.hpp"
#include "tokenizer/files/sentence_piece.hpp"
#include "tokenizer/files/tokenizer_json.hpp"
#include "tokenizer/files/vocab_files.hpp"
#include "tokenizer/tokenizer.hpp"
#include <array>
#include <filesystem>

namespace trainx::tokenizer {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> open_alone(const std::string& path) {
  const fs::path file(path);
  const std::string folder = folder_of(path), name = file.filename().string();
  if (name == "vocab.json" || name == "merges.txt")
    return make_tokenizer(read_gpt2_files(folder + "/vocab.json", folder + "/merges.txt"));
  if (file.extension() == ".model") return open_sentence_piece(path);
  return make_tokenizer(read_bert_vocab(path));
}

/// The token of one of these names; -1 where there is none.
std::int32_t id_of_any(const Tokenizer& tokenizer, std::span<const char* const> names) {
  for (const char* name : names)
    if (const std::int32_t id = tokenizer.id_of(name); id >= 0) return id;
  return -1;
}

/// Fills in what the files do not name.
void guess_named(Tokenizer& tokenizer) {
  static constexpr std::array ends{"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};
  if (tokenizer.end_of_text() < 0) tokenizer.set_end_of_text(id_of_any(tokenizer, ends));
}

void check_fits_model(const Tokenizer& tokenizer, const std::string& folder) {
  const std::string path = folder + "/config.json";
  const nlohmann::ordered_json config = read_json_object(path);
  const auto size = config.find("vocab_size");
  if (size == config.end() || !size->is_number_integer() ||
      size->get<std::int64_t>() >= tokenizer.vocab_size())
    return;
  throw UserError(ExitCode::bad_data,
                  path + ": the model's vocab_size is " + size->dump() + ", but the tokenizer " +
                      tokenizer.path() + " has ids up to " +
                      std::to_string(tokenizer.vocab_size() - 1) + ": they do not belong together");
}

void check_ending(const fs::path& file) {
  for (const char* known : {".json", ".model", ".txt"})
    if (file.extension() == known && file.filename() != "tekken.json") return;
  throw UserError(ExitCode::bad_data,
                  file.string() +
                      " is no file of a tokenizer that trainx knows: tokenizer.json, a "
                      "SentencePiece *.model, vocab.json with merges.txt, or vocab.txt");
}

std::unique_ptr<Tokenizer> open_class(FolderVocabulary vocabulary) {
  const std::string file = vocabulary.file;
  ClassDocument built = read_folder_document(std::move(vocabulary));
  Pipeline pipeline = make_pipeline(built.document, file);
  if (built.splits_special) pipeline.added.split_special();
  for (const std::string& content : built.once_normalized)
    pipeline.added.decode_normalized(content, pipeline.normalizer.get());
  auto tokenizer = make_tokenizer(std::move(pipeline));
  tokenizer->set_named(std::move(built.tokens));
  return tokenizer;
}

}  // namespace

std::string class_to_name(const std::string& file) {
  const FolderVocabulary vocabulary = look_at_vocabulary(folder_of(file), file);
  if (vocabulary.definition) return std::string(vocabulary.definition->name);
  if (!vocabulary.stands_alone) return "PreTrainedTokenizerFast";
  return file.ends_with(".json") ? "GPT2Tokenizer" : file.ends_with(".txt") ? "BertTokenizer" : "";
}

bool has_tokenizer(const std::string& folder) { return !find_vocabulary(folder).empty(); }

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  std::error_code error;
  const auto snapshot = fs::exists(name, error) ? std::nullopt : find_in_hub_cache(name);
  const std::string path = snapshot ? snapshot->folder : name;
  if (!fs::exists(path, error))
    throw UserError(ExitCode::input_missing, missing_folder(name, "tokenizer"));
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder) check_ending(path);
  FolderVocabulary vocabulary =
      look_at_vocabulary(is_folder ? path : folder_of(path), is_folder ? "" : path);
  const std::string file = vocabulary.file;
  auto tokenizer = vocabulary.stands_alone ? open_alone(file) : open_class(std::move(vocabulary));
  tokenizer->set_path(file);
  guess_named(*tokenizer);
  check_fits_model(*tokenizer, folder_of(file));
  return tokenizer;
}

}  // namespace trainx::tokenizer
