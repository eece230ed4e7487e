// Data sources that there are: a struct each, and a line in the list PlainDataOptions.
// `fills_rows`: every sample has sequence_length tokens. `has_own_fields`: samples may have fields
// of a model of the user's own.
#pragma once
#include "core/dtype.hpp"
#include "options/data/file_list.hpp"
#include "options/data/held_out.hpp"
#include "options/data/own.hpp"
#include "options/field.hpp"
#include <cstdint>
#include <variant>

namespace trainx::options {

/// Built-in simple English from a probabilistic grammar whose entropy per token is known; tokens
/// are words.
struct StoriesOptions {
  static constexpr std::string_view name = "stories";
  static constexpr std::string_view summary =
      "Built-in generator of simple English stories with known entropy";
  static constexpr bool fills_rows = true;
  std::int64_t samples = 65536;     // training samples of an epoch
  std::int64_t eval_samples = 256;  // held-out samples
};
template <class Visitor>
void visit_fields(Visitor& field, StoriesOptions& o) {
  field("samples", o.samples, at_least(1), "Training samples of an epoch");
  field("eval_samples", o.eval_samples, at_least(1),
        "Held-out samples, disjoint from the training samples");
}

constexpr std::string_view held_out_text =
    "Part of the training samples held out for evaluation, instead of eval: `1 %` or "
    "`500 samples`; the same ones for every seed";

/// UTF-8 files or folders of them, as bytes (256 token ids).
struct TextOptions {
  static constexpr std::string_view name = "text";
  static constexpr std::string_view summary = "UTF-8 text files or folders, one token a byte";
  static constexpr bool fills_rows = true;
  FileList train;
  std::optional<FileList> eval;
  std::optional<HeldOut> held_out;
};
template <class Visitor>
void visit_fields(Visitor& field, TextOptions& o) {
  field("train", o.train, anything(),
        "Files or folders to train on: a path, a glob such as data/*.txt, or a list; they form one "
        "stream of bytes");
  field("eval", o.eval, anything(), "Held-out files or folders: a path, a glob or a list");
  field("held_out", o.held_out, anything(), held_out_text);
}

enum class TokenFileType : std::uint8_t { uint16, uint32 };
inline const EnumNames<TokenFileType>& enum_names(TokenFileType) {
  static const EnumNames<TokenFileType> names{{TokenFileType::uint16, "uint16"},
                                              {TokenFileType::uint32, "uint32"}};
  return names;
}
/// Token files in the .bin formats of llm.c (by magic), or headerless with an explicit dtype.
struct TokensOptions {
  static constexpr std::string_view name = "tokens";
  static constexpr std::string_view summary =
      "Token files: llm.c .bin (uint16, uint32), Megatron .bin with .idx, or headerless with "
      "data.dtype";
  static constexpr bool fills_rows = true;
  FileList train;
  std::optional<FileList> eval;
  Auto<TokenFileType> dtype;  // auto: by the file's magic
  std::optional<HeldOut> held_out;
};
template <class Visitor>
void visit_fields(Visitor& field, TokensOptions& o) {
  field("train", o.train, anything(),
        "Token files to train on: a path, a glob such as data/*.bin, or a list; each is cut into "
        "samples by itself");
  field("eval", o.eval, anything(), "Held-out token files: a path, a glob or a list");
  field("held_out", o.held_out, anything(), held_out_text);
  field("dtype", o.dtype, anything(),
        "Type of a file without a header. auto: by the file's magic or the .idx beside it");
}

/// JSON lines of token ids: {"input_ids": [...], "token_type_ids": [...], "label": n, "labels":
/// [...]}, a sample each; `packed`: several documents, whose lengths "document_lengths" has.
struct JsonlOptions {
  static constexpr std::string_view name = "jsonl";
  static constexpr std::string_view summary =
      "JSON lines of token ids, with a label or labels per token";
  static constexpr bool fills_rows = false, has_own_fields = true;
  FileList train;
  std::optional<FileList> eval;
  bool truncate = false, packed = false;
  std::optional<HeldOut> held_out;
};
template <class Visitor>
void visit_fields(Visitor& field, JsonlOptions& o) {
  field("train", o.train, anything(),
        "Files to train on: one JSON object a line, or one array of objects, with input_ids; a "
        "path, a glob or a list");
  field("eval", o.eval, anything(), "Held-out files: a path, a glob or a list");
  field("held_out", o.held_out, anything(), held_out_text);
  field("truncate", o.truncate, anything(),
        "Cut longer samples to sequence_length; false: they are an error");
  field("packed", o.packed, anything(),
        "Lines hold several documents (`trainx data pack`), which do not see each other");
}

enum class Delimiter : std::uint8_t { comma, tab };
inline const EnumNames<Delimiter>& enum_names(Delimiter) {
  static const EnumNames<Delimiter> names{{Delimiter::comma, "comma"}, {Delimiter::tab, "tab"}};
  return names;
}
/// The same in columns that the first line names; ids are separated by blanks.
struct CsvOptions {
  static constexpr std::string_view name = "csv";
  static constexpr std::string_view summary =
      "csv or tsv files of token ids, with a label or labels per token";
  static constexpr bool fills_rows = false;
  FileList train;
  std::optional<FileList> eval;
  bool truncate = false;
  Auto<Delimiter> delimiter;
  std::optional<HeldOut> held_out;
};
template <class Visitor>
void visit_fields(Visitor& field, CsvOptions& o) {
  field("train", o.train, anything(),
        "Files to train on: the first line names the columns, input_ids among them; a path, a "
        "glob or a list");
  field("eval", o.eval, anything(), "Held-out files: a path, a glob or a list");
  field("held_out", o.held_out, anything(), held_out_text);
  field("truncate", o.truncate, anything(),
        "Cut longer samples to sequence_length; false: they are an error");
  field("delimiter", o.delimiter, anything(),
        "Delimiter of fields. auto: tab for .tsv and .tab, else comma");
}

using PlainDataOptions = std::variant<StoriesOptions, TextOptions, TokensOptions, JsonlOptions,
                                      CsvOptions, OwnDataOptions>;

/// One source of a mixture. In a recipe `type` and its fields stand beside `weight`.
struct MixtureEntry {
  double weight = 1;
  PlainDataOptions source;
};
template <class Visitor>
void visit_fields(Visitor& field, MixtureEntry& e) {
  field("weight", e.weight, positive(), "Share of the samples, relative to the other sources");
}

/// Several sources, drawn from by weight, each going through its own epochs; the eval sets one
/// after another.
struct MixtureOptions {
  static constexpr std::string_view name = "mixture";
  static constexpr std::string_view summary = "Weighted mixture of the other sources";
  std::vector<MixtureEntry> sources;
};
template <class Visitor>
void visit_fields(Visitor& field, MixtureOptions& o) {
  field.list("sources", o.sources,
             "Sources, each a map of weight, type, and the keys of that type");
}

using DataOptions = std::variant<StoriesOptions, TextOptions, TokensOptions, JsonlOptions,
                                 CsvOptions, MixtureOptions, OwnDataOptions>;

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

/// Whether every source may have fields of a model of the user's own.
inline bool has_own_fields(const DataOptions& options) {
  bool has = true;
  for_each_source(options, [&](const auto& o) {
    has = has && requires { o.has_own_fields; };
  });
  return has;
}

/// Whether a row may hold several documents.
inline bool packs_documents(const DataOptions& options) {
  bool packs = false;
  for_each_source(options, [&](const auto& o) {
    if constexpr (requires { o.packed; }) packs = packs || o.packed;
  });
  return packs;
}

}  // namespace trainx::options
