// Data sources that there are: a struct each, and a line in this list.
#pragma once
#include "core/dtype.hpp"
#include "spec/field.hpp"
#include <variant>

namespace trainx::spec {

/// Built-in simple English from a probabilistic grammar whose entropy per token is known; tokens are words.
struct StoriesOptions {
  static constexpr std::string_view name = "stories";
  static constexpr std::string_view summary = "built-in generator of simple English stories with known entropy";
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
  static constexpr std::string_view summary = "token files: llm.c .bin (uint16, uint32), or headerless with data.dtype";
  std::string train;
  std::optional<std::string> eval;
  Auto<TokenFileType> dtype;            // auto: by the file's magic
};
template <class Visitor>
void visit_fields(Visitor& field, TokensOptions& o) {
  field("train", o.train, anything(), "token file to train on");
  field("eval", o.eval, anything(), "token file held out");
  field("dtype", o.dtype, anything(), "auto: by the file's magic; uint16 or uint32: the file has no header");
}

using DataOptions = std::variant<StoriesOptions, TextOptions, TokensOptions>;

}  // namespace trainx::spec
