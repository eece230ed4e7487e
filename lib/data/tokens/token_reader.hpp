#pragma once
#include "data/mapped_file.hpp"
#include "options/data/options.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::data::tokens {

/// Where the ids of a file lie.
struct TokenLayout {
  std::int64_t offset = 0, width = 2, count = 0;
  std::vector<std::int64_t> documents = {};  // first token of each, where the file's index says so
};

/// The ids of a token file: llm.c's by its header, Megatron-LM's by the index beside it, or
/// headerless as `type` says. Thread-safe.
class TokenReader {
 public:
  /// `limit`: ids must be below, 0: no limit. Throws UserError: 66 missing, 65 malformed.
  TokenReader(MappedFile file, const options::Auto<options::TokenFileType>& type,
              std::int64_t limit);
  TokenReader(const std::string& path, const options::Auto<options::TokenFileType>& type,
              std::int64_t limit)
      : TokenReader(MappedFile(path), type, limit) {}
  std::int64_t count() const { return layout_.count; }
  const TokenLayout& layout() const { return layout_; }
  const std::string& path() const { return file_.path(); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(file_.bytes().size());
  }  // of the file
  /// Throws UserError 65 for an id that is beyond the limit, with its place.
  std::int32_t token(std::int64_t index) const;

 private:
  MappedFile file_;
  TokenLayout layout_;
  std::int64_t limit_;
};

}  // namespace trainx::data::tokens
