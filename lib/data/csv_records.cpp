#include "data/csv_records.hpp"
#include <algorithm>

namespace trainx::data {

bool CsvRecords::next() {
  while (end_ < text_.size()) {
    begin_ = end_;
    line_ = next_line_;
    record_end_ = end_of_record(begin_);
    const std::string_view taken = text_.substr(begin_, record_end_ - begin_);
    next_line_ += std::ranges::count(taken, '\n') + 1;
    end_ = record_end_ + 1;
    if (taken.find_first_not_of(" \t\r\n") != std::string_view::npos) return true;
  }
  return false;
}

std::string_view CsvRecords::record() const {
  std::string_view record = text_.substr(begin_, record_end_ - begin_);
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

std::size_t CsvRecords::end_of_record(std::size_t at) const {
  const char stops[] = {delimiter_, '\n'};
  for (;;) {
    if (at < text_.size() && text_[at] == '"') {  // up to the quote that closes the field
      for (++at;; at += 2) {
        at = text_.find('"', at);
        if (at == std::string_view::npos) return text_.size();
        if (at + 1 >= text_.size() || text_[at + 1] != '"') break;
      }
    }
    at = std::min(text_.find_first_of({stops, sizeof stops}, at), text_.size());
    if (at == text_.size() || text_[at] == '\n') return at;
    ++at;
  }
}

}  // namespace trainx::data
