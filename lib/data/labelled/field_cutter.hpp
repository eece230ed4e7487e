#pragma once
#include "data/labelled/line.hpp"
#include <algorithm>

namespace trainx::data::labelled {

/// Takes the fields of a line of csv one after another.
class FieldCutter {
 public:
  FieldCutter(std::string_view text, char delimiter, const LinePlace& place)
      : text_(text), delimiter_(delimiter), place_(place) {}

  /// The next field without its quotes (quotes doubled inside stay so); false after the last.
  bool next(std::string_view& field) {
    if (at_end_) return false;
    ++count_;
    std::size_t end = 0;  // of the field, where its delimiter stands
    if (!text_.empty() && text_[0] == '"') {
      const std::size_t close = closing_quote();
      end = close + 1;
      field = text_.substr(1, close - 1);
      if (end < text_.size() && text_[end] != delimiter_)
        place_.refuse("field " + std::to_string(count_) + " goes on after its closing quote");
    } else {
      end = std::min(text_.find(delimiter_), text_.size());
      field = text_.substr(0, end);
    }
    at_end_ = end >= text_.size();
    text_.remove_prefix(at_end_ ? text_.size() : end + 1);
    return true;
  }

 private:
  std::size_t closing_quote() const {
    for (std::size_t at = text_.find('"', 1); at != std::string_view::npos;
         at = text_.find('"', at + 2)) {
      if (at + 1 >= text_.size() || text_[at + 1] != '"') return at;
    }
    place_.refuse("field " + std::to_string(count_) +
                  " has a quote that is not closed: write a quote inside it twice");
  }

  std::string_view text_;
  char delimiter_;
  const LinePlace& place_;
  std::size_t count_ = 0;
  bool at_end_ = false;
};

}  // namespace trainx::data::labelled
