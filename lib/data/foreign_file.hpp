// Files of other formats, told by their first bytes.
#pragma once
#include "data/mapped_file.hpp"
#include <optional>
#include <string>

namespace trainx::data {

/// A format that trainx does not read, and how to make one that it reads.
struct ForeignFormat {
  std::string name;    // with its article: "a Parquet file"
  std::string remedy;  // an imperative: "convert it with ..."
};

/// Nothing where the bytes begin with no known signature. `path` stands in the remedy.
std::optional<ForeignFormat> foreign_format(std::span<const std::byte> bytes,
                                            const std::string& path);
/// Throws UserError 65 naming the format where the file has one that trainx does not read.
void refuse_foreign(const MappedFile& file);

}  // namespace trainx::data
