#pragma once
#include "data/labelled/line_index.hpp"
#include "data/labelled/sample_reader.hpp"
#include "data/mapped_file.hpp"
#include <memory>

namespace trainx::data::labelled {

/// A sample a line, in the parser's notation.
class FileLines final : public SampleReader {
 public:
  /// `first`: lines before it are no samples; its parser was made from them.
  FileLines(MappedFile file, LineIndex lines, std::int64_t first,
            std::unique_ptr<LineParser> parser)
      : file_(std::move(file)),
        lines_(std::move(lines)),
        first_(first),
        parser_(std::move(parser)) {}

  std::int64_t samples() const override { return lines_.size() - first_; }
  std::vector<DataFile> files() const override {
    return {{file_.path(), static_cast<std::int64_t>(file_.bytes().size())}};
  }
  LinePlace place(std::int64_t index) const override {
    return lines_.place(file_.path(), first_ + index);
  }
  void read(std::int64_t index, Line& out) const override {
    parser_->parse(lines_.line(first_ + index), place(index), out);
  }

 private:
  MappedFile file_;
  LineIndex lines_;
  std::int64_t first_;
  std::unique_ptr<LineParser> parser_;
};

}  // namespace trainx::data::labelled
