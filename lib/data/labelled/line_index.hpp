#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::data::labelled {

/// Where the lines of a file begin. Blank lines at the end are no lines.
class LineIndex {
 public:
  explicit LineIndex(std::span<const std::byte> bytes);
  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  /// Without its end of line, and without a byte order mark. Points into the bytes.
  std::string_view line(std::int64_t index) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> ends_;       // of each line, where its newline stands
};

bool is_blank(std::string_view text);

}  // namespace trainx::data::labelled
