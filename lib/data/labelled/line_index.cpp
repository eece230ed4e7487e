#include "data/labelled/line_index.hpp"
#include "data/json_records.hpp"
#include <algorithm>

namespace trainx::data::labelled {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

LineIndex::LineIndex(std::span<const std::byte> bytes)
    : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    ends_.push_back(end);
    at = end + 1;
  }
  while (!ends_.empty() && is_blank(line(size() - 1))) ends_.pop_back();
}

LineIndex LineIndex::of_json(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (json_layout(text) != JsonLayout::array) return LineIndex(bytes);
  LineIndex index;
  index.text_ = text;
  std::int64_t number = 1;
  std::size_t counted = 0;  // bytes whose newlines are in `number`
  for (JsonRecords records(text, path); records.next();) {
    number += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                         text.begin() + static_cast<std::ptrdiff_t>(records.begin()), '\n');
    counted = records.begin();
    index.numbers_.push_back(number);
    index.begins_.push_back(records.begin());
    index.ends_.push_back(records.begin() + records.record().size());
  }
  return index;
}

std::string_view LineIndex::line(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  if (!begins_.empty()) return text_.substr(begins_[i], ends_[i] - begins_[i]);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
  std::string_view line = text_.substr(begin, ends_[i] - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

LinePlace LineIndex::place(const std::string& path, std::int64_t index) const {
  if (begins_.empty()) return {path, index + 1};
  return {path, numbers_[static_cast<std::size_t>(index)], index + 1};
}

}  // namespace trainx::data::labelled
