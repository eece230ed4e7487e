// Data sources that there are: a struct each, and a line in the list PlainDataOptions. `fills_rows`: every sample has sequence_length tokens.
#pragma once
#include "core/dtype.hpp"
#include "spec/field.hpp"
#include <variant>

namespace trainx::spec {

/// Built-in simple English from a probabilistic grammar whose entropy per token is known; tokens are words.
struct StoriesOptions {
  static constexpr std::string_view name = "stories";
  static constexpr std::string_view summary = "built-in generator of simple English stories with known entropy";
  static constexpr bool fills_rows = true;
  std::int64_t samples = 65536;         // training samples of an epoch
  std::int64_t eval_samples = 256;      // held-out samples
};
template <class Visitor>
void visit_fields(Visitor& field, StoriesOptions& o) {
  field("samples", o.samples, at_least(1), "training samples of an epoch");
  field("eval_samples", o.eval_samples, at_least(1), "held-out samples, disjoint from the training samples by their random key");
}

/// UTF-8 files or folders of them, as bytes (256 token ids).
struct TextOptions {
  static constexpr std::string_view name = "text";
  static constexpr std::string_view summary = "UTF-8 text files or folders, one token a byte";
  static constexpr bool fills_rows = true;
  std::string train;
  std::optional<std::string> eval;
};
template <class Visitor>
void visit_fields(Visitor& field, TextOptions& o) {
  field("train", o.train, anything(), "file or folder to train on");
  field("eval", o.eval, anything(), "file or folder held out");
}

enum class TokenFileType : std::uint8_t { uint16, uint32 };
inline const EnumNames<TokenFileType>& enum_names(TokenFileType) {
  static const EnumNames<TokenFileType> names{{TokenFileType::uint16, "uint16"}, {TokenFileType::uint32, "uint32"}};
  return names;
}
/// Token files in the .bin formats of llm.c (by magic), or headerless with an explicit dtype.
struct TokensOptions {
  static constexpr std::string_view name = "tokens";
  static constexpr std::string_view summary = "token files: llm.c .bin (uint16, uint32), Megatron .bin with .idx, or headerless with data.dtype";
  static constexpr bool fills_rows = true;
  std::string train;
  std::optional<std::string> eval;
  Auto<TokenFileType> dtype;            // auto: by the file's magic
};
template <class Visitor>
void visit_fields(Visitor& field, TokensOptions& o) {
  field("train", o.train, anything(), "token file to train on");
  field("eval", o.eval, anything(), "token file held out");
  field("dtype", o.dtype, anything(), "auto: by the file's magic, or the .idx beside it; uint16 or uint32: the file has no header");
}

/// JSON lines of token ids: {"input_ids": [...], "token_type_ids": [...], "label": n, "labels": [...]}, a sample each; `packed`: several documents,
/// whose lengths "document_lengths" has.
struct JsonlOptions {
  static constexpr std::string_view name = "jsonl";
  static constexpr std::string_view summary = "JSON lines of token ids, with a label, or labels per token";
  static constexpr bool fills_rows = false;
  std::string train;
  std::optional<std::string> eval;
  bool truncate = false, packed = false;
};
template <class Visitor>
void visit_fields(Visitor& field, JsonlOptions& o) {
  field("train", o.train, anything(), "file to train on: a JSON object a line, with input_ids");
  field("eval", o.eval, anything(), "file held out");
  field("truncate", o.truncate, anything(), "true: of a longer sample the first sequence_length tokens; false: it is an error");
  field("packed", o.packed, anything(), "true: a line may hold several documents (`trainx data pack`), each of which sees itself alone and counts its positions from 0");
}

enum class Delimiter : std::uint8_t { comma, tab };
inline const EnumNames<Delimiter>& enum_names(Delimiter) {
  static const EnumNames<Delimiter> names{{Delimiter::comma, "comma"}, {Delimiter::tab, "tab"}};
  return names;
}
/// The same in columns that the first line names; ids are separated by blanks.
struct CsvOptions {
  static constexpr std::string_view name = "csv";
  static constexpr std::string_view summary = "csv or tsv files of token ids, with a label, or labels per token";
  static constexpr bool fills_rows = false;
  std::string train;
  std::optional<std::string> eval;
  bool truncate = false;
  Auto<Delimiter> delimiter;
};
template <class Visitor>
void visit_fields(Visitor& field, CsvOptions& o) {
  field("train", o.train, anything(), "file to train on: the first line names the columns, input_ids among them");
  field("eval", o.eval, anything(), "file held out");
  field("truncate", o.truncate, anything(), "true: of a longer sample the first sequence_length tokens; false: it is an error");
  field("delimiter", o.delimiter, anything(), "between fields; auto: tab for .tsv and .tab, else comma");
}

using PlainDataOptions = std::variant<StoriesOptions, TextOptions, TokensOptions, JsonlOptions, CsvOptions>;

/// One source of a mixture. In a recipe `type` and its fields stand beside `weight`.
struct MixtureEntry {
  double weight = 1;
  PlainDataOptions source;
};
template <class Visitor>
void visit_fields(Visitor& field, MixtureEntry& e) {
  field("weight", e.weight, positive(), "share of the samples, relative to the other sources");
}

/// Several sources, drawn from by weight, each going through its own epochs; the eval sets one after another.
struct MixtureOptions {
  static constexpr std::string_view name = "mixture";
  static constexpr std::string_view summary = "a weighted mixture of the other sources";
  std::vector<MixtureEntry> sources;
};
template <class Visitor>
void visit_fields(Visitor& field, MixtureOptions& o) {
  field.list("sources", o.sources, "a map for each source: weight, type, and the keys of that type");
}

using DataOptions = std::variant<StoriesOptions, TextOptions, TokensOptions, JsonlOptions, CsvOptions, MixtureOptions>;

/// Calls `f(source)` for the source, or for each of a mixture's.
template <class F>
void for_each_source(const DataOptions& options, F&& f) {
  std::visit(
      [&](const auto& o) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(o)>, MixtureOptions>) {
          for (const MixtureEntry& e : o.sources) std::visit(f, e.source);
        } else {
          f(o);
        }
      },
      options);
}

/// Whether every sample has sequence_length tokens, so that no row is ever padded.
inline bool always_fills_rows(const DataOptions& options) {
  bool fills = true;
  for_each_source(options, [&](const auto& o) { fills = fills && o.fills_rows; });
  return fills;
}

/// Whether a row may hold several documents.
inline bool packs_documents(const DataOptions& options) {
  bool packs = false;
  for_each_source(options, [&](const auto& o) {
    if constexpr (requires { o.packed; }) packs = packs || o.packed;
  });
  return packs;
}

}  // namespace trainx::spec
