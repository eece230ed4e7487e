#include "data/labelled/line_index.hpp"
#include <algorithm>

namespace trainx::data::labelled {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

LineIndex::LineIndex(std::span<const std::byte> bytes) : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    ends_.push_back(end);
    at = end + 1;
  }
  while (!ends_.empty() && is_blank(line(size() - 1))) ends_.pop_back();
}

std::string_view LineIndex::line(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
  std::string_view line = text_.substr(begin, ends_[i] - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace trainx::data::labelled
