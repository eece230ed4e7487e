#include "data/labelled/labelled_lines.hpp"
#include "core/error.hpp"
#include "data/labelled/bad_lines.hpp"
#include "data/labelled/csv_line.hpp"
#include "data/labelled/file_lines.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_rules.hpp"
#include "data/labelled/own_field.hpp"
#include "data/labelled/own_samples.hpp"
#include "data/labelled/parallel_lines.hpp"
#include "data/files/about_file.hpp"
#include "data/foreign_file.hpp"
#include "data/packed_file.hpp"
#include <algorithm>
#include <chrono>

namespace trainx::data::labelled {
namespace {

class LabelledLines final : public Source {
 public:
  LabelledLines(std::unique_ptr<SampleReader> reader, const LineRules& rules, bool scan)
      : reader_(std::move(reader)), rules_(rules) {
    if (scan && reader_->may_look_through()) look_through();
    if (scan && !reader_->may_look_through()) look_at_some();
  }

  std::int64_t samples() const override { return reader_->samples(); }
  std::int64_t vocab_size() const override { return reader_->vocab_size(); }
  std::vector<DataFile> files() const override { return reader_->files(); }

  std::int64_t length(std::int64_t index) const override {
    check_index(index);
    if (!lengths_.empty()) return lengths_[static_cast<std::size_t>(index)];
    if (!rules_.reads_tokens) return 1;
    Line line;
    parse(index, line);
    return length_of(line);
  }

  std::int64_t target_length(std::int64_t index) const override {
    check_index(index);
    if (rules_.targets != Targets::another_text) return 0;
    if (!target_lengths_.empty()) return target_lengths_[static_cast<std::size_t>(index)];
    Line line;
    parse(index, line);
    return target_length_of(line);
  }

  std::vector<FileFindings> findings(const Counted& counted) const override {
    if (!reader_->may_look_through()) return {};
    FileFindings found;
    found.path = reader_->files().empty() ? reader_->place(0).path : reader_->files().front().path;
    Line line;
    for (std::int64_t i = 0; i < samples(); ++i) {
      if (!counted(i)) continue;
      std::uint8_t seen = 0;
      if (seen_.empty()) {
        parse(i, line);
        seen = seen_in(line);
      } else {
        seen = seen_[static_cast<std::size_t>(i)];
      }
      ++found.samples;
      found.without_target += (seen & without_target) != 0;
      found.cut += (seen & is_cut) != 0;
    }
    return {found};
  }

  bool read(std::int64_t index, SampleView out) const override {
    check_index(index);
    Line line;
    parse(index, line);
    rules_.shorten(line);
    fill_own_fields(rules_.fields, line, out.fields);
    if (!rules_.reads_tokens) return true;
    const auto length = static_cast<std::size_t>(length_of(line));
    if (length > out.tokens.size())
      throw InternalError("labelled lines: a sample of " + std::to_string(length) +
                          " tokens for a row of " + std::to_string(out.tokens.size()));
    fill(line[FieldName::input_ids], 0, length, out.tokens);
    if (!out.token_types.empty()) fill(line[FieldName::token_type_ids], 0, length, out.token_types);
    if (!out.length.empty()) out.length[0] = static_cast<std::int32_t>(length);
    if (!out.label.empty() && !line[FieldName::label].values.empty())
      out.label[0] = static_cast<std::int32_t>(line[FieldName::label].values[0]);
    if (!out.values.empty() && rules_.real_labels()) {
      if (out.values.size() != line.numbers.size())
        throw InternalError("labelled lines: another count of numbers than the model's");
      std::ranges::transform(line.numbers, out.values.begin(),
                             [](double x) { return static_cast<float>(x); });
    }
    const Field& labels = line[FieldName::labels];
    if (rules_.targets == Targets::next_token)
      fill(labels.given ? labels : line[FieldName::input_ids], 1, length, out.targets);
    if (rules_.packed) keep_documents_apart(line, length, out);
    if (rules_.targets == Targets::own_token || rules_.targets == Targets::token_class)
      fill(labels, 0, length, out.targets);
    if (rules_.targets == Targets::another_text) {
      const auto of_target = static_cast<std::size_t>(target_length_of(line));
      if (of_target > out.targets.size())
        throw InternalError("labelled lines: a target longer than its row");
      fill(labels, 0, of_target, out.targets);
    }
    return labels.given || rules_.targets != Targets::own_token;
  }

 private:
  static constexpr std::uint8_t without_target = 1, is_cut = 2;

  /// Parses all lines; the first that are refused are told together.
  void look_through() {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(samples())), of_targets;
    std::vector<std::uint8_t> seen(lengths.size());
    if (rules_.targets == Targets::another_text) of_targets.resize(lengths.size());
    BadLines bad;
    for_each_range(samples(), [&](std::int64_t begin, std::int64_t end) {
      Line line;
      std::int64_t refused = 0;
      for (std::int64_t i = begin; i < end && refused < BadLines::most_of_range; ++i) {
        try {
          parse(i, line);
        } catch (const UserError& refusal) {
          if (refusal.code() != ExitCode::bad_data) throw;
          bad.add(i, refusal);
          ++refused;
          continue;
        }
        const auto at = static_cast<std::size_t>(i);
        lengths[at] = static_cast<std::int32_t>(length_of(line));
        seen[at] = seen_in(line);
        if (!of_targets.empty()) of_targets[at] = static_cast<std::int32_t>(target_length_of(line));
      }
    });
    bad.throw_first();
    lengths_ = std::move(lengths);
    target_lengths_ = std::move(of_targets);
    seen_ = std::move(seen);
  }

  /// Parses samples spread over the source, for at most so long: reading each may take long.
  void look_at_some() {
    constexpr std::int64_t most = 1000;
    constexpr auto longest = std::chrono::milliseconds(500);
    const std::int64_t count = samples(), looks = std::min(count, most);
    const auto end = std::chrono::steady_clock::now() + longest;
    BadLines bad;
    Line line;
    for (std::int64_t k = 0; k < looks && std::chrono::steady_clock::now() < end; ++k) {
      // Each of them once, since the factor is a prime: the first ones lie far apart, too.
      const std::int64_t index = k * 611'953 % looks * count / looks;
      try {
        parse(index, line);
      } catch (const UserError& refusal) {
        if (refusal.code() != ExitCode::bad_data) throw;
        bad.add(index, refusal);
      }
    }
    bad.throw_first();
  }

  std::uint8_t seen_in(const Line& line) const {
    const auto longer = [&](FieldName name, std::int64_t most) {
      return rules_.reads_tokens && static_cast<std::int64_t>(line[name].values.size()) > most;
    };
    const bool cut = longer(FieldName::input_ids, rules_.sequence_length) ||
                     (rules_.targets == Targets::another_text &&
                      longer(FieldName::labels, rules_.target_length));
    return static_cast<std::uint8_t>((rules_.has_target(line) ? 0 : without_target) |
                                     (cut ? is_cut : 0));
  }

  /// Values [begin, length) of a field that is given, to the front of `out`.
  static void fill(const Field& field, std::size_t begin, std::size_t length,
                   std::span<std::int32_t> out) {
    if (!field.given) return;
    std::transform(field.values.begin() + static_cast<std::ptrdiff_t>(begin),
                   field.values.begin() + static_cast<std::ptrdiff_t>(length), out.begin(),
                   [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  }

  /// The last token of a document predicts nothing of the next one.
  static void keep_documents_apart(const Line& line, std::size_t length, SampleView out) {
    const Field& documents = line[FieldName::document_lengths];
    const std::vector<std::int64_t> one{static_cast<std::int64_t>(length)};
    std::ranges::fill(out.document_starts, -1);
    std::size_t begin = 0;
    for (const std::int64_t tokens : documents.given ? documents.values : one) {
      const std::size_t end = std::min(begin + static_cast<std::size_t>(tokens), length);
      if (begin == end) break;
      if (!out.document_starts.empty())
        std::ranges::fill(out.document_starts.subspan(begin, end - begin),
                          static_cast<std::int32_t>(begin));
      out.targets[end - 1] = no_target;
      begin = end;
    }
  }

  void check_index(std::int64_t index) const {
    if (index < 0 || index >= samples())
      throw InternalError("labelled lines: sample " + std::to_string(index) + " of " +
                          std::to_string(samples()));
  }

  void parse(std::int64_t index, Line& line) const {
    line.clear();
    reader_->read(index, line);
    rules_.settle(line, reader_->place(index));
  }

  std::int64_t length_of(const Line& line) const {
    if (!rules_.reads_tokens) return 1;
    return std::min(static_cast<std::int64_t>(line[FieldName::input_ids].values.size()),
                    rules_.sequence_length);
  }

  std::int64_t target_length_of(const Line& line) const {
    return std::min(static_cast<std::int64_t>(line[FieldName::labels].values.size()),
                    rules_.target_length);
  }

  std::unique_ptr<SampleReader> reader_;
  LineRules rules_;
  // of the samples and their targets, where they were scanned
  std::vector<std::int32_t> lengths_, target_lengths_;
  std::vector<std::uint8_t> seen_;  // of the samples: without_target, is_cut
};

std::unique_ptr<Source> lines_of(MappedFile file, LineIndex lines, std::int64_t first,
                                 std::unique_ptr<LineParser> parser, const LineRules& rules,
                                 bool scan) {
  if (lines.size() <= first) throw UserError(ExitCode::bad_data, file.path() + " has no samples");
  return std::make_unique<LabelledLines>(
      std::make_unique<FileLines>(std::move(file), std::move(lines), first, std::move(parser)),
      rules, scan);
}

}  // namespace

std::unique_ptr<Source> open_jsonl(const options::JsonlOptions& options, MappedFile file,
                                   const SourceOptions& how) {
  LineRules rules(how, options.truncate, options.packed);
  rules.special_tokens = read_about(file.path()).special_tokens;
  refuse_foreign(file);
  LineIndex lines = LineIndex::of_json(file.bytes(), file.path());
  return lines_of(std::move(file), std::move(lines), 0,
                  make_json_parser(rules.wanted(), rules.real_labels(), rules.fields), rules,
                  how.scan);
}

std::unique_ptr<Source> open_csv(const options::CsvOptions& options, MappedFile file,
                                 const SourceOptions& how) {
  LineRules rules(how, options.truncate);
  rules.special_tokens = read_about(file.path()).special_tokens;
  refuse_foreign(file);
  const std::string name = without_packing(file.path());
  const bool tabs = name.ends_with(".tsv") || name.ends_with(".tab");
  const options::Delimiter delimiter =
      options.delimiter.value.value_or(tabs ? options::Delimiter::tab : options::Delimiter::comma);
  LineIndex lines =
      LineIndex::of_csv(file.bytes(), delimiter == options::Delimiter::tab ? '\t' : ',');
  if (lines.size() == 0)
    throw UserError(ExitCode::bad_data,
                    file.path() + " is empty: the first line names the columns");
  auto parser = make_csv_parser(lines.line(0), lines.place(file.path(), 0), delimiter,
                                rules.wanted(), rules.real_labels());
  return lines_of(std::move(file), std::move(lines), 1, std::move(parser), rules, how.scan);
}

std::unique_ptr<Source> open_own(const options::OwnDataOptions& options, Split split,
                                 const SourceOptions& how) {
  const bool trains = split == Split::train;
  auto source = options::open_checked(options, trains ? DataSplit::train : DataSplit::eval);
  if (!source) return nullptr;
  LineRules rules(how, false);
  rules.may_truncate = false;
  return std::make_unique<LabelledLines>(
      make_own_samples(std::move(source), options.name + (trains ? " (train)" : " (eval)"),
                       rules.fields, rules.real_labels()),
      rules, how.scan);
}

}  // namespace trainx::data::labelled
