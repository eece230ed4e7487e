// Texts of JSON that come from outside, before a parser sees them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trainx {

/// Most bytes that are read of a model's config.json, and of other JSON of a few lines.
constexpr std::int64_t most_config_bytes = std::int64_t{16} << 20;
/// Of files that grow with the number of tensors: a manifest, an index of shards.
constexpr std::int64_t most_index_bytes = std::int64_t{128} << 20;
/// Objects and lists inside one another. Parsers and printers of JSON take memory, and some of the
/// stack, for each level.
constexpr std::int64_t deepest_json = 64;

/// Throws UserError 65: nested deeper than that, or a NUL in it, at which parsers stop as if the
/// text ended.
void check_json_text(std::string_view text, const std::string& path);
/// A regular file's text, checked. Throws UserError also as read_file does.
std::string read_json_text(const std::string& path, std::int64_t most_bytes = most_config_bytes);

}  // namespace trainx
