#include "corpus/documents.hpp"
#include "core/error.hpp"
#include "data/files/about_file.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_index.hpp"
#include "data/labelled/line_rules.hpp"
#include "data/foreign_file.hpp"
#include "data/mapped_file.hpp"
#include "data/packed_file.hpp"
#include <filesystem>

namespace trainx::corpus {
namespace {

using data::labelled::FieldName;

class TokenFileDocuments final : public Documents {
 public:
  TokenFileDocuments(const std::string& path, std::optional<std::int32_t> end_of_text)
      : reader_(path, {}, 0) {
    if (reader_.layout().documents.empty() && !end_of_text)
      throw UserError(ExitCode::bad_data,
                      path +
                          " does not say where its documents end: name the token that ends them "
                          "with --end-of-text TOKEN --tokenizer FOLDER");
    for_each_document(reader_, end_of_text,
                      [&](std::int64_t, std::int64_t end) { ends_.push_back(end); });
  }
  std::int64_t count() const override { return static_cast<std::int64_t>(ends_.size()) - 1; }
  std::int64_t length(std::int64_t document) const override {
    return ends_[static_cast<std::size_t>(document) + 1] - begin(document);
  }
  bool has_labels() const override { return false; }
  void read(std::int64_t document, std::int64_t first, std::int64_t tokens, tokenizer::Ids& ids,
            tokenizer::Ids&) const override {
    for (std::int64_t i = 0; i < tokens; ++i)
      ids.push_back(reader_.token(begin(document) + first + i));
  }

 private:
  std::int64_t begin(std::int64_t document) const {
    return ends_[static_cast<std::size_t>(document)];
  }

  data::tokens::TokenReader reader_;
  std::vector<std::int64_t> ends_{0};  // of the document before the first, of the first, ...
};

class LineDocuments final : public Documents {
 public:
  explicit LineDocuments(const std::string& path)
      : file_(data::open_unpacked(path)),
        lines_(opened_lines(file_)),
        parser_(data::labelled::make_json_parser(data::labelled::all_fields())) {
    if (lines_.size() == 0) throw UserError(ExitCode::bad_data, path + " has no samples");
    lengths_.reserve(static_cast<std::size_t>(lines_.size()));
    data::labelled::Line line;
    for (std::int64_t i = 0; i < lines_.size(); ++i) {
      parse(i, line);
      lengths_.push_back(static_cast<std::int32_t>(line[FieldName::input_ids].values.size()));
      const bool labels = line[FieldName::labels].given;
      if (i > 0 && labels != has_labels_)
        place(i).refuse(std::string(labels ? "has labels, and lines before have none"
                                           : "has no labels, and lines before have some") +
                        ": give them to all or to none");
      has_labels_ = labels;
    }
  }
  std::int64_t count() const override { return lines_.size(); }
  std::int64_t length(std::int64_t document) const override {
    return lengths_[static_cast<std::size_t>(document)];
  }
  bool has_labels() const override { return has_labels_; }
  void read(std::int64_t document, std::int64_t first, std::int64_t tokens, tokenizer::Ids& ids,
            tokenizer::Ids& labels) const override {
    data::labelled::Line line;
    parse(document, line);
    const auto part = [&](FieldName name) {
      return std::span(line[name].values)
          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens));
    };
    for (const std::int64_t id : part(FieldName::input_ids))
      ids.push_back(static_cast<std::int32_t>(id));
    if (!has_labels_) return;
    for (const std::int64_t label : part(FieldName::labels))
      labels.push_back(static_cast<std::int32_t>(label));
  }

 private:
  data::labelled::LinePlace place(std::int64_t i) const { return lines_.place(file_.path(), i); }
  static data::labelled::LineIndex opened_lines(const data::MappedFile& file) {
    data::refuse_foreign(file);
    return data::labelled::LineIndex::of_json(file.bytes(), file.path());
  }
  void parse(std::int64_t i, data::labelled::Line& line) const {
    line.clear();
    parser_->parse(lines_.line(i), place(i), line);
    for (const FieldName name : {FieldName::document_lengths, FieldName::seq_lengths})
      if (line[name].given)
        place(i).refuse("is packed already: it has " +
                        std::string(data::labelled::field_names[static_cast<std::size_t>(name)]));
    if (line[FieldName::label].given)
      place(i).refuse(
          "has a label, and a row of several documents has no class: such samples are trained on "
          "one by one");
    if (line[FieldName::token_type_ids].given)
      place(i).refuse(
          "has token_type_ids, which packed rows have none of: tokenize it for a model without "
          "(gpt2)");
    rules_.settle(line, place(i));
  }

  static data::SourceOptions any_length() {
    data::SourceOptions how;
    how.sequence_length = std::int64_t{1} << 31;
    return how;
  }

  data::MappedFile file_;
  data::labelled::LineIndex lines_;
  std::unique_ptr<data::labelled::LineParser> parser_;
  data::labelled::LineRules rules_{any_length(), false};
  std::vector<std::int32_t> lengths_;
  bool has_labels_ = false;
};

}  // namespace

std::optional<std::int32_t> end_of_text_of(const std::string& path,
                                           const tokenizer::Tokenizer* tokenizer) {
  if (const auto id = data::read_about(path).end_of_text) return id;
  if (tokenizer && tokenizer->end_of_text() >= 0) return tokenizer->end_of_text();
  return std::nullopt;
}

void for_each_document(const data::tokens::TokenReader& reader,
                       std::optional<std::int32_t> end_of_text,
                       const std::function<void(std::int64_t begin, std::int64_t end)>& use) {
  std::int64_t begin = 0;
  const auto end_at = [&](std::int64_t end) {
    if (end > begin) use(begin, end);
    begin = end;
  };
  if (const auto& starts = reader.layout().documents; !starts.empty()) {
    for (const std::int64_t start : starts) end_at(start);
  } else if (end_of_text) {
    for (std::int64_t i = 0; i < reader.count(); ++i)
      if (reader.token(i) == *end_of_text) end_at(i + 1);
  }
  end_at(reader.count());
}

bool is_labelled_lines(const std::string& path) {
  const std::string name = data::without_packing(path);
  return name.ends_with(".jsonl") || name.ends_with(".json");
}

bool has_document_index(const std::string& path) {
  return !data::tokens::TokenReader(path, {}, 0).layout().documents.empty();
}

std::unique_ptr<Documents> open_documents(const std::string& path,
                                          std::optional<std::int32_t> end_of_text) {
  if (!std::filesystem::exists(path))
    throw UserError(ExitCode::input_missing, "there is no file " + path + " to pack");
  if (is_labelled_lines(path)) return std::make_unique<LineDocuments>(path);
  return std::make_unique<TokenFileDocuments>(path, end_of_text);
}

}  // namespace trainx::corpus
