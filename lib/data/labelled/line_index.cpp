#include "data/labelled/line_index.hpp"
#include "data/csv_records.hpp"
#include "data/json_records.hpp"
#include <algorithm>

namespace trainx::data::labelled {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

}  // namespace

LineIndex::LineIndex(std::span<const std::byte> bytes) : text_(text_of(bytes)) {
  std::int64_t number = 1;
  bool skipped = false;  // a blank line
  const auto give_places = [&] {
    for (std::size_t i = begins_.size(); i < ends_.size(); ++i) {
      begins_.push_back(i == 0 ? 0 : ends_[i - 1] + 1);
      numbers_.push_back(static_cast<std::int64_t>(i) + 1);
    }
  };
  for (std::size_t at = 0; at < text_.size(); ++number) {
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    if (is_blank(text_.substr(at, end - at))) {
      skipped = true;
    } else if (skipped) {  // each line needs a place of its own
      give_places();
      add(at, end, number);
    } else {
      ends_.push_back(end);
    }
    at = end + 1;
  }
}

void LineIndex::add(std::size_t begin, std::size_t end, std::int64_t number) {
  begins_.push_back(begin);
  ends_.push_back(end);
  numbers_.push_back(number);
}

LineIndex LineIndex::of_csv(std::span<const std::byte> bytes, char delimiter) {
  if (text_of(bytes).find('"') == std::string_view::npos) return LineIndex(bytes);
  LineIndex index;
  index.text_ = text_of(bytes);
  for (CsvRecords records(index.text_, delimiter); records.next();)
    index.add(records.begin(), records.end(), records.line());
  return index;
}

LineIndex LineIndex::of_json(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (json_layout(text) != JsonLayout::array) return LineIndex(bytes);
  LineIndex index;
  index.text_ = text;
  index.array_ = true;
  std::int64_t number = 1;
  std::size_t counted = 0;  // bytes whose newlines are in `number`
  for (JsonRecords records(text, path); records.next();) {
    number += std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                         text.begin() + static_cast<std::ptrdiff_t>(records.begin()), '\n');
    counted = records.begin();
    index.add(records.begin(), records.begin() + records.record().size(), number);
  }
  return index;
}

std::string_view LineIndex::line(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t begin = !begins_.empty() ? begins_[i] : i == 0 ? 0 : ends_[i - 1] + 1;
  std::string_view line = text_.substr(begin, ends_[i] - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::int64_t LineIndex::number(std::int64_t index) const {
  return numbers_.empty() ? index + 1 : numbers_[static_cast<std::size_t>(index)];
}

LinePlace LineIndex::place(const std::string& path, std::int64_t index) const {
  return {path, number(index), array_ ? index + 1 : 0};
}

}  // namespace trainx::data::labelled
