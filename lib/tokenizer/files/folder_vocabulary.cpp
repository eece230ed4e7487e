#include "tokenizer/files/folder_vocabulary.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "tokenizer/files/generate_merges.hpp"
#include "tokenizer/files/mistral_pattern.hpp"
#include "tokenizer/files/read_json.hpp"
#include "tokenizer/files/sentence_piece_file.hpp"
#include "tokenizer/files/vocab_files.hpp"
#include <filesystem>

namespace trainx::tokenizer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw UserError(ExitCode::bad_data, what); }

bool is_there(const std::string& path) { return fs::is_regular_file(path); }

bool is_words_file(const fs::path& path) {
  return path.extension() == ".txt" && path.filename() != "merges.txt";
}

/// How a user makes a folder that trainx reads.
std::string remedy(const std::string& folder) {
  return ": let transformers write its tokenizer.json (AutoTokenizer.from_pretrained(\"" + folder +
         "\").save_pretrained(FOLDER)), and write \"tokenizer_class\": \"PreTrainedTokenizerFast\" "
         "into FOLDER/tokenizer_config.json";
}

/// The type of a tokenizer.json's model; older files name none.
std::string model_type(const json& model) {
  if (!model.is_object()) return "";
  if (const auto type = model.find("type"); type != model.end() && type->is_string())
    return type->get<std::string>();
  const auto vocab = model.find("vocab");
  if (vocab != model.end() && vocab->is_array()) return "Unigram";
  return model.contains("merges") ? "BPE" : "WordPiece";
}

/// The table of the first Precompiled among the normalizers.
std::string charsmap_of(const json& document) {
  const auto normalizer = document.find("normalizer");
  if (normalizer == document.end() || !normalizer->is_object()) return "";
  json parts = json::array({*normalizer});
  if (normalizer->value("type", json()) == "Sequence")
    parts = normalizer->value("normalizers", json::array());
  for (const auto& part : parts)
    if (part.is_object() && part.value("type", json()) == "Precompiled" &&
        part.value("precompiled_charsmap", json()).is_string())
      return part["precompiled_charsmap"];
  return "";
}

VocabularySource of_json(const ClassDefinition* definition, json document,
                         const std::string& file) {
  VocabularySource source;
  source.is_json = true;
  if (!document.is_object()) refuse(file + " is no JSON object");
  if (const auto around = document.find("post_processor"); around != document.end())
    source.post_processor = *around;
  if (const auto padding = document.find("padding");
      padding != document.end() && !padding->is_null()) {
    const json token = padding->is_object() ? padding->value("pad_token", json()) : json();
    if (!token.is_string())
      refuse(file + ": padding names no pad_token: write null for padding, or a token's text");
    source.padding = token;
  }
  if (!definition) {
    source.document = std::move(document);
    return source;
  }
  source.charsmap = charsmap_of(document);
  json& model = document["model"];
  if (const std::string type = model_type(model); type != definition->model)
    refuse(file + ": the model is " + (type.empty() ? "missing" : type) + ", but the class " +
           std::string(definition->name) + " of " + folder_of(file) + "/tokenizer_config.json is " +
           std::string(definition->model) +
           "; write \"tokenizer_class\": \"PreTrainedTokenizerFast\" there to read the file as it "
           "is");
  json kept{{"type", definition->model}};
  for (const char* key : {"vocab", "merges"})
    if (const auto found = model.find(key); found != model.end()) kept[key] = std::move(*found);
  source.document["model"] = std::move(kept);
  return source;
}

json scored(const std::string& text, double score) { return json::array({text, score}); }

/// Pieces in the order of the class's ids.
json arranged(const ClassDefinition& definition, const TokenSettings& s,
              const SentencePieceFile& file) {
  json out = json::array();
  const bool xlm = definition.name == "XLMRobertaTokenizer",
             mbart = definition.name == "MBartTokenizer",
             fifty = definition.name == "MBart50Tokenizer";
  const bool moved = xlm || mbart || fifty;
  const auto named = [&](const char* name, const char* otherwise) {
    const NamedToken* token = s.find(name);
    out.push_back(scored(token ? token->token.content : otherwise, 0));
  };
  if (moved) {
    named(fifty ? "cls_token" : "bos_token", "<s>");
    named("pad_token", "<pad>");
    named("eos_token", "</s>");
    named("unk_token", "<unk>");
  }
  for (std::size_t i = moved ? 3 : 0; i < file.pieces.size(); ++i)
    out.push_back(scored(file.pieces[i].text, file.pieces[i].score));
  if (definition.name == "T5Tokenizer")
    for (std::int64_t i = s.number("extra_ids", 100) - 1; i >= 0; --i)
      out.push_back(scored("<extra_id_" + std::to_string(i) + ">", 0));
  if (mbart || fifty)
    for (const std::string& language : mbart_languages(fifty)) out.push_back(scored(language, 0));
  if (moved) named("mask_token", "<mask>");
  return out;
}

json bpe_model(const SentencePieceFile& file) {
  json vocab = json::object();
  for (std::size_t i = 0; i < file.pieces.size(); ++i) vocab[file.pieces[i].text] = i;
  json merges = generate_merges(vocab);
  return {{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(merges)}};
}

/// What transformers makes of a SentencePiece file if no class says more.
void build_of_pieces(const SentencePieceFile& file, json& document, TokenSettings& s) {
  json& model = document["model"];
  model["byte_fallback"] = file.byte_fallback;
  if (file.model_type == 1) {
    model["unk_id"] = file.unk_id;
  } else {
    model["unk_token"] = file.unk_piece;
    model["fuse_unk"] = true;
    // placeholders get the names that the settings have for their ids
    json& vocab = model["vocab"];
    for (const auto& [id, token] : s.added) {
      if (id >= static_cast<std::int64_t>(file.pieces.size())) continue;
      const std::string& piece = file.pieces[static_cast<std::size_t>(id)].text;
      if (piece == token.content || vocab.contains(token.content)) continue;
      vocab[token.content] = static_cast<std::uint64_t>(id);
      vocab.erase(piece);
    }
  }
  const json blanks = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  json parts = json::array();
  if (!file.charsmap.empty())
    parts.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", file.charsmap}});
  parts.push_back(blanks);
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(parts)}};
  json decoders =
      json::array({{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}}});
  if (file.byte_fallback) {
    decoders.push_back({{"type", "ByteFallback"}});
    decoders.push_back({{"type", "Fuse"}});
  }
  document["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  if (file.bos_id >= 0) s.set_default("bos_token", NamedToken{{file.bos_piece}, true});
  if (file.eos_id >= 0) s.set_default("eos_token", NamedToken{{file.eos_piece}, true});
  if (file.unk_id >= 0) s.set_default("unk_token", NamedToken{{file.unk_piece}, true});
}

VocabularySource of_pieces(const ClassDefinition* definition, const std::string& path,
                           TokenSettings& s) {
  const SentencePieceFile file = read_sentence_piece_file(path);
  VocabularySource source;
  source.is_sentence_piece = true;
  source.charsmap = file.charsmap;
  for (const auto& piece : file.pieces) {
    if (piece.type != SentencePieceFile::control && piece.type != SentencePieceFile::user_defined)
      continue;
    TokenSpec& symbol = source.symbols.emplace_back(TokenSpec{piece.text});
    symbol.special = piece.type == SentencePieceFile::control;
    symbol.normalized = false;
  }
  const bool unigram = definition ? definition->model == "Unigram" : file.model_type == 1;
  if (unigram != (file.model_type == 1) || (!unigram && file.model_type != 2))
    refuse(path + " is of another kind of model than " +
           (definition ? std::string(definition->name) : "the classes of transformers") +
           " reads: take the file again from where it came");
  json& model = source.document["model"];
  if (!unigram) {
    model = bpe_model(file);
  } else if (definition) {
    model = {{"type", "Unigram"}, {"vocab", arranged(*definition, s, file)}};
  } else {
    json vocab = json::array();
    for (const auto& piece : file.pieces) vocab.push_back(scored(piece.text, piece.score));
    model = {{"type", "Unigram"}, {"vocab", std::move(vocab)}};
  }
  if (!definition) build_of_pieces(file, source.document, s);
  return source;
}

/// Throws for formats that trainx knows by name only.
void check_format(const std::string& folder) {
  for (const auto& [name, what] :
       {std::pair("tekken.json", "Mistral's own format"), {"tiktoken.model", "tiktoken's format"}})
    if (is_there(folder + "/" + name))
      refuse(folder + "/" + name + " is in " + what + ", which trainx does not read" +
             remedy(folder));
}

[[noreturn]] void refuse_empty(const std::string& folder) {
  throw UserError(ExitCode::input_missing,
                  folder +
                      " holds no tokenizer: neither tokenizer.json, nor tokenizer.model, nor "
                      "vocab.json and merges.txt, nor vocab.txt");
}

/// The vocabulary of a folder that has no tokenizer.json and names no class.
std::string file_without_class(const std::string& folder) {
  check_format(folder);
  const std::string file = find_vocabulary(folder);
  if (file.empty()) refuse_empty(folder);
  if (file.ends_with(".model"))
    refuse(file +
           ": the ids of a SentencePiece file depend on the tokenizer class, which the folder does "
           "not name; write {\"tokenizer_class\": \"T5Tokenizer\"} or another into " +
           folder + "/tokenizer_config.json, or name the file itself to take its own ids");
  return file;
}

/// The vocabulary that a class reads where there is no tokenizer.json.
std::string file_of_class(const std::string& folder, const FolderClass& named,
                          const ClassDefinition* definition) {
  check_format(folder);
  if (const std::string file = folder + "/tokenizer.model"; is_there(file)) return file;
  if (definition && !definition->files.empty()) {
    for (const std::string& name : definition->files)
      if (!is_there(folder + "/" + name))
        throw UserError(ExitCode::input_missing, folder + " holds no tokenizer: " + named.name +
                                                     " reads tokenizer.json or " + name +
                                                     ", and neither is there");
    return folder + "/" + definition->files.front();
  }
  const std::string other = find_vocabulary(folder);
  if (other.empty()) refuse_empty(folder);
  refuse(other + ": " + named.name +
         ", the class of this folder, does not read such a file; name the class that does as "
         "\"tokenizer_class\" in " +
         folder + "/tokenizer_config.json, e.g. \"" +
         (other.ends_with(".txt")    ? "BertTokenizer"
          : other.ends_with(".json") ? "GPT2Tokenizer"
                                     : "T5Tokenizer") +
         "\"");
}

}  // namespace

std::string find_vocabulary(const std::string& folder) {
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
        "vocab.json", "vocab.txt", "tekken.json", "tiktoken.model"})
    if (is_there(folder + "/" + name)) return folder + "/" + name;
  return "";
}

FolderVocabulary look_at_vocabulary(const std::string& folder, const std::string& file) {
  FolderVocabulary out{file};
  const std::string whole = folder + "/tokenizer.json";
  if (out.file.empty() && is_there(whole)) out.file = whole;
  const fs::path path(out.file);
  const bool is_json = path.extension() == ".json" && path.filename() != "vocab.json";
  bool has_byte_level = false;
  if (is_json) {
    const std::string text = read_tokenizer_file(out.file);
    has_byte_level = text.find("\"ByteLevel\"") != std::string::npos;
    out.json = parse_tokenizer_json(text, out.file);
  }
  FolderClass named = class_of_folder(folder, has_byte_level);
  if (!named.is_named && is_words_file(file.empty() ? find_vocabulary(folder) : file) &&
      is_there(folder + "/tokenizer_config.json"))
    named = {"BertTokenizer", true};
  if (named.name != backend_class) {
    out.definition = find_class(named.name);
    if (!out.definition)
      refuse(folder + ": trainx does not build the tokenizer class " + named.name + remedy(folder));
  }
  if (!named.is_named && !is_json) {
    if (out.file.empty()) out.file = file_without_class(folder);
    out.stands_alone = true;
  } else if (out.file.empty()) {
    out.file = file_of_class(folder, named, out.definition);
  }
  return out;
}

ClassDocument read_folder_document(FolderVocabulary vocabulary) {
  const std::string &file = vocabulary.file, folder = folder_of(file);
  const fs::path path(file);
  const ClassDefinition* definition = vocabulary.definition;
  const bool is_json = !vocabulary.json.is_null();
  TokenSettings settings = read_token_settings(folder, is_json ? &vocabulary.json : nullptr);
  VocabularySource source;
  if (is_json) {
    source = of_json(definition, std::move(vocabulary.json), file);
  } else if (path.extension() == ".model") {
    source = of_pieces(definition, file, settings);
  } else {
    const bool words = is_words_file(file);
    if (!definition || definition->model != (words ? "WordPiece" : "BPE"))
      refuse(file + " is no file of " +
             (definition ? std::string(definition->name) : std::string(backend_class)) +
             ", the class of this folder: name another as \"tokenizer_class\" in " + folder +
             "/tokenizer_config.json");
    source.document["model"] =
        words ? read_words_model(file)
              : read_merges_model(folder + "/vocab.json", folder + "/merges.txt");
  }
  const bool fixes_pattern = settings.flag("fix_mistral_regex", false);
  ClassDocument built = build_class_document(definition, std::move(source), std::move(settings));
  if (fixes_pattern) fix_mistral_pattern(folder, built.document);
  return built;
}

}  // namespace trainx::tokenizer
