#include "corpus/part_encoder.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "corpus/around.hpp"
#include "corpus/document_cut.hpp"
#include "corpus/sample_line.hpp"
#include "corpus/word_sample.hpp"
#include "data/csv_records.hpp"
#include "data/json_records.hpp"
#include "data/labelled/line_index.hpp"
#include "data/labelled/unread_field.hpp"
#include "data/source.hpp"
#include "data/tables/table_file.hpp"
#include "data/text/utf8.hpp"
#include "yaml/problems.hpp"
#include <algorithm>
#include <span>
#include <utility>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;
using tokenizer::Ids;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view text_of_part(const data::MappedFile& file) {
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

std::int64_t line_of(std::string_view text, std::size_t at) {
  return std::count(text.begin(),
                    text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), '\n') +
         1;
}

class PartEncoder {
 public:
  PartEncoder(const std::vector<Input>& inputs, const tokenizer::Tokenizer& t,
              const OutputOptions& o, tokenizer::Encoder& encoder)
      : inputs_(inputs), tokenizer_(t), options_(o), encoder_(encoder), around_(t, o.special) {
    Ids& behind = around_.behind;
    if (o.end_of_text >= 0 && (behind.empty() || behind.back() != o.end_of_text))
      behind.push_back(o.end_of_text);
  }

  EncodedPart encode(const Part& part, const OpenInput& open) {
    Refusals refusals;  // of each file one
    for (const Slice& slice : part) refusals.collect([&] { encode_slice(slice, open); });
    refusals.throw_all();
    if (!options_.samples) out_.tokens = static_cast<std::int64_t>(out_.ids.size());
    return std::move(out_);
  }

 private:
  void encode_slice(const Slice& slice, const OpenInput& open) {
    const Input& input = inputs_[slice.input];
    const data::MappedFile file = open(input);
    if (static_cast<std::int64_t>(file.bytes().size()) != input.bytes)
      throw UserError(ExitCode::bad_data,
                      input.path + " changed while it was read: begin again when it is done");
    const std::string_view text = text_of_part(file);
    switch (input.format) {
      case Format::text: return text_slice(text, slice, input);
      case Format::table: return table_slice(slice, input);
      case Format::csv: return csv_slice(text, slice, input);
      case Format::json:
        return records_slice(
            {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, slice,
            input);
      case Format::jsonl:
      case Format::tsv: break;
    }
    // Lines are counted from the file's beginning where there is a sentence to say: once more with
    // their numbers.
    try {
      lines_slice(text, slice, input, 0);
    } catch (const UserError&) {
      lines_slice(text, slice, input, line_of(text, first_line(text, slice.begin)) - 1);
      throw InternalError("tokenize: a line was refused once and not again");
    }
  }

  /// The encoder takes well-formed text alone: the slice, and what is looked at for its cuts.
  void check_text(std::string_view text, const Slice& slice, const Input& input) const {
    constexpr std::size_t looked_around = (std::size_t{1} << 20) + 4096;
    std::size_t begin = slice.begin - std::min(slice.begin, looked_around);
    while (begin > 0 && begin < text.size() &&
           (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80 &&
           slice.begin - begin < looked_around + 4)
      --begin;
    std::size_t end = std::min(text.size(), slice.end + looked_around);
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80 &&
           end < slice.end + looked_around + 4)
      ++end;
    const std::string_view looked_at = text.substr(begin, end - begin);
    if (const auto bad = data::text::find_malformed_utf8(std::as_bytes(std::span(looked_at))))
      LinePlace{input.path, line_of(text, begin + *bad)}.refuse(
          "is not UTF-8 at byte " + std::to_string(begin + *bad) +
          " of the file: convert it, or take it out of the data");
    if (const std::size_t nul = looked_at.find('\0'); nul != std::string_view::npos)
      LinePlace{input.path, line_of(text, begin + nul)}.refuse("has a NUL byte at byte " +
                                                               std::to_string(begin + nul) +
                                                               " of the file: this is no text");
  }

  /// A text file is a document, of which this is a piece.
  void text_slice(std::string_view text, const Slice& slice, const Input& input) {
    if (options_.samples)
      throw UserError(ExitCode::usage,
                      input.path +
                          ": a text file has no lines of samples: give JSON lines, csv or tsv, or "
                          "name an --out that ends with .bin");
    if (text.empty() && slice.begin == 0)
      throw UserError(ExitCode::bad_data, input.path + " is empty: take it out of the data");
    if (slice.begin >= text.size()) return;
    check_text(text, slice, input);
    const std::size_t begin = find_cut(text, slice.begin, encoder_, input.path).begin;
    const std::size_t end = slice.end >= text.size()
                                ? text.size()
                                : find_cut(text, slice.end, encoder_, input.path).end;
    if (slice.begin == 0) append(around_.before);
    if (begin < end) {
      std::string_view piece = text.substr(begin, end - begin);
      std::string with_newlines;
      if (piece.find('\r') != std::string_view::npos) {
        with_newlines = with_plain_newlines(piece);
        piece = with_newlines;
      }
      append_document(piece, encoder_, out_.ids, input.path);
    }
    if (slice.end < text.size()) return;
    append(around_.behind);
    ++out_.documents;
  }

  static std::string with_plain_newlines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out.push_back(text[i]);
    return out;
  }

  void append(const Ids& ids) { out_.ids.insert(out_.ids.end(), ids.begin(), ids.end()); }

  /// Where the first line begins that begins at or behind `at`.
  static std::size_t first_line(std::string_view text, std::size_t at) {
    if (at == 0) return 0;
    const std::size_t newline = text.find('\n', at - 1);
    return newline == std::string_view::npos ? text.size() : newline + 1;
  }

  /// The lines that begin in the slice; `lines_before` it.
  void lines_slice(std::string_view text, const Slice& slice, const Input& input,
                   std::int64_t lines_before) {
    std::size_t at = first_line(text, slice.begin);
    const auto line_at = [&](std::size_t begin) {
      std::string_view line =
          text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    };
    const bool columns = input.format == Format::tsv;
    if (text.empty() && slice.begin == 0)
      throw UserError(ExitCode::bad_data, input.path + " is empty: take it out of the data");
    const LinePlace first{input.path, 1};
    const auto reader = columns ? make_tsv_reader(line_at(0), first, options_.names)
                                : make_json_reader(options_.names);
    for (std::int64_t number = lines_before + 1; at < slice.end && at < text.size(); ++number) {
      const std::string_view line = line_at(at);
      const std::size_t begin = std::exchange(at, std::min(text.find('\n', at), text.size()) + 1);
      if (columns && begin == 0) continue;
      const LinePlace place{input.path, number};
      if (line.size() > longest_line) place.refuse("is longer than 64 MiB");
      if (data::labelled::is_blank(line)) continue;
      record(reader->read(line, place), place);
    }
  }

  /// The records of csv that begin in the slice.
  void csv_slice(std::string_view text, const Slice& slice, const Input& input) {
    data::CsvRecords header(text, ',');
    if (!header.next())
      throw UserError(ExitCode::bad_data, input.path + " is empty: take it out of the data");
    const auto reader =
        make_csv_reader(header.record(), {input.path, header.line()}, options_.names);
    if (slice.begin >= slice.end) return;
    // without a record to begin with: from the file's beginning on
    const bool aligned = slice.first_record > 0;
    data::CsvRecords records(text, ',', aligned ? slice.begin : 0,
                             aligned ? slice.first_record : 1);
    while (records.next() && records.begin() < slice.end) {
      if (records.begin() == header.begin() || records.begin() < slice.begin) continue;
      const LinePlace place{input.path, records.line()};
      if (records.record().size() > longest_line) place.refuse("is longer than 64 MiB");
      record(reader->read(records.record(), place), place);
    }
  }

  /// The objects of a JSON array that begin in the slice.
  void records_slice(std::string_view text, const Slice& slice, const Input& input) {
    if (slice.begin == slice.end) return;
    const auto reader = make_json_reader(options_.names);
    data::JsonRecords records =
        slice.first_record > 0
            ? data::JsonRecords(text, input.path, slice.begin, slice.first_record)
            : data::JsonRecords(text, input.path);
    while (records.next() && records.begin() < slice.end) {
      const auto use = [&](const LinePlace& place) {
        if (records.record().size() > longest_line) place.refuse("is longer than 64 MiB");
        record(reader->read(records.record(), place), place);
      };
      // Lines are counted only when a sentence names one.
      try {
        use({input.path, 0, records.number()});
      } catch (const UserError&) {
        use({input.path, records.line(), records.number()});
        throw InternalError("tokenize: a record was refused once and not again");
      }
    }
    if (records.number() == 0)
      throw UserError(ExitCode::bad_data,
                      input.path + " is an empty array: take it out of the data");
  }

  /// The groups of a Parquet or Arrow file that begin in the slice, as if all were of one size.
  void table_slice(const Slice& slice, const Input& input) {
    const FieldNames& n = options_.names;
    std::vector<std::string> wanted{n.text,
                                    n.pair,
                                    n.label,
                                    n.target,
                                    n.prompt,
                                    n.completion,
                                    n.messages,
                                    n.words,
                                    n.tags,
                                    "tools",
                                    "chat_template_kwargs"};
    const auto columns = data::tables::open_table(input.path, {})->columns();
    check_columns(columns, input);
    for (const std::string& column : columns)
      if (data::labelled::may_matter(column)) wanted.push_back(column);
    const auto has = [&](const char* name) {
      return std::ranges::find(columns, name) != columns.end();
    };
    // What other tools call these may be anything elsewhere.
    if (has("conversations") || (has("instruction") && has("output")))
      for (const char* name :
           {"conversations", "instruction", "input", "output", "system", "history"})
        wanted.emplace_back(name);
    const auto table = data::tables::open_table(input.path, wanted);
    const auto reader = make_json_reader(n);
    const auto groups = static_cast<std::size_t>(table->groups());
    for (std::size_t g = 0; g < groups; ++g) {
      const auto begin = static_cast<std::size_t>(
          static_cast<double>(input.bytes) * static_cast<double>(g) / static_cast<double>(groups));
      if (begin < slice.begin || begin >= slice.end) continue;
      std::int64_t row = table->first_row(static_cast<std::int64_t>(g));
      table->for_each_row(static_cast<std::int64_t>(g), [&](const std::string& line) {
        const LinePlace place{input.path, ++row};
        record(reader->read(line, place), place);
      });
    }
  }
  void check_columns(const std::vector<std::string>& columns, const Input& input) const {
    const FieldNames& n = options_.names;
    const auto has = [&](const std::string& name) {
      return std::ranges::find(columns, name) != columns.end();
    };
    if (has(n.text) || has(n.messages) || (has(n.prompt) && has(n.completion)) ||
        has("conversations") || (has("instruction") && has("output")) || has("input_ids") ||
        (has(n.words) && has(n.tags)))
      return;
    std::string names;
    for (const std::string& name : columns)
      names += (names.empty() ? "" : ", ") + yaml::excerpt(name);
    throw UserError(ExitCode::bad_data, input.path + " has no column " + yaml::excerpt(n.text) +
                                            "; its columns are " + names +
                                            ": --text, --prompt, --completion, --messages "
                                            "or --words names those that hold text");
  }

  /// A sample that is tokens already.
  void tokens(const Record& record, const LinePlace& place) {
    using data::labelled::FieldName;
    const data::labelled::Line& line = *record.tokens;
    const auto& ids = line[FieldName::input_ids].values;
    for (const std::int64_t id : ids)
      if (id >= tokenizer_.vocab_size())
        place.refuse("has the id " + std::to_string(id) + ", but the tokenizer " +
                     tokenizer_.path() + " has ids below " +
                     std::to_string(tokenizer_.vocab_size()));
    if (options_.samples) {
      out_.tokens += static_cast<std::int64_t>(ids.size());
      if (line[FieldName::labels].given)
        count_targets(std::span<const std::int64_t>(line[FieldName::labels].values));
      return append_sample_line(line, record.label, out_.lines);
    }
    if (line[FieldName::labels].given || line[FieldName::label].given || record.label)
      place.refuse("has labels, which go into samples: name an --out that ends with .jsonl");
    out_.ids.insert(out_.ids.end(), ids.begin(), ids.end());
    if (options_.end_of_text >= 0 && out_.ids.back() != options_.end_of_text)
      out_.ids.push_back(options_.end_of_text);
  }

  template <class Integer>
  void count_targets(std::span<const Integer> labels) {
    out_.without_target +=
        std::ranges::all_of(labels, [](Integer label) { return label == data::no_target; });
  }

  void record(Record record, const LinePlace& place) {
    const std::string where = place.path + ":" + std::to_string(place.number);
    if (options_.collects_names) return collect_names(record, out_.names);
    if (options_.samples) settle_label(record, options_, place);
    ++out_.documents;
    if (record.tokens) return tokens(record, place);
    if (record.completion || record.conversation) return masked(record, place, where);
    if (record.words) return words(*record.words, place, where);
    if (!options_.samples) {
      if ((record.pair || record.target) && !options_.pairs_in_stream)
        place.refuse(
            "has a pair of texts, which go into samples: name an --out that ends with .jsonl");
      append(around_.before);
      append_document(record.text, encoder_, out_.ids, where);
      if (record.pair) append_document(*record.pair, encoder_, out_.ids, where);
      if (record.target) append_document(*record.target, encoder_, out_.ids, where);
      append(around_.behind);
      return;
    }
    const auto ids_of = [&](const std::string& text) {
      Ids ids;
      append_document(text, encoder_, ids, where);
      return ids;
    };
    std::optional<Ids> second;
    Ids first = ids_of(record.text);
    if (record.pair) second = ids_of(*record.pair);
    const auto sample = tokenizer_.sample(std::move(first), std::move(second), options_.special);
    if (sample.ids.empty()) place.refuse("has no tokens: take the line out");
    out_.tokens += static_cast<std::int64_t>(sample.ids.size());
    if (record.target) {
      Ids labels = tokenizer_.sample(ids_of(*record.target), std::nullopt, options_.special).ids;
      const std::int32_t end = options_.end_of_text;
      if (end >= 0 && !labels.empty() && labels.back() != end) labels.push_back(end);
      if (labels.empty()) place.refuse("has a target without tokens: take the line out");
      out_.tokens += static_cast<std::int64_t>(labels.size());
      return append_sample_line(MaskedSample{sample.ids, labels}, out_.lines);
    }
    append_sample_line(sample, record.label, out_.lines);
  }

  void words(const TaggedWords& words, const LinePlace& place, const std::string& where) {
    if (!options_.samples && !options_.pairs_in_stream)
      place.refuse("has tags, which go into samples: name an --out that ends with .jsonl");
    if (!options_.samples)  // a vocabulary is learned from all of it
      return append_document(words.text(), encoder_, out_.ids, where);
    const MaskedSample sample = word_sample(words, tokenizer_, options_.special, encoder_, where);
    if (sample.ids.empty()) place.refuse("has no tokens: take the line out");
    out_.tokens += static_cast<std::int64_t>(sample.ids.size());
    count_targets(std::span<const std::int32_t>(sample.labels));
    append_sample_line(sample, out_.lines);
  }

  void masked(const Record& record, const LinePlace& place, const std::string& where) {
    if (!options_.samples && !options_.pairs_in_stream)
      place.refuse(
          "has an answer to learn, which goes into samples with labels: name an --out "
          "that ends with .jsonl");
    if (!options_.samples) {  // a vocabulary is learned from all of it
      append_document(record.text, encoder_, out_.ids, where);
      if (record.completion) append_document(*record.completion, encoder_, out_.ids, where);
      for (const auto& message : messages_of(record))
        if (const auto text = message.find("content"); text != message.end() && text->is_string())
          append_document(text->get_ref<const std::string&>(), encoder_, out_.ids, where);
      return;
    }
    const MaskedSample sample = masked_sample(record, tokenizer_, options_, encoder_, place);
    if (sample.ids.empty()) place.refuse("has no tokens: take the line out");
    out_.tokens += static_cast<std::int64_t>(sample.ids.size());
    count_targets(std::span<const std::int32_t>(sample.labels));
    append_sample_line(sample, out_.lines);
  }
  /// The objects among them: what else is there is refused where it is rendered.
  static std::vector<nlohmann::ordered_json> messages_of(const Record& record) {
    std::vector<nlohmann::ordered_json> out;
    if (!record.conversation) return out;
    for (const char* field : {"messages", "prompt", "completion"})
      if (const auto found = record.conversation->find(field);
          found != record.conversation->end() && found->is_array())
        for (const auto& message : *found)
          if (message.is_object()) out.push_back(message);
    return out;
  }

  const std::vector<Input>& inputs_;
  const tokenizer::Tokenizer& tokenizer_;
  const OutputOptions& options_;
  tokenizer::Encoder& encoder_;
  Around around_;
  EncodedPart out_;
};

}  // namespace

void settle_label(Record& record, const OutputOptions& options, const LinePlace& place) {
  if (!record.unread.empty() && !record.label)
    place.refuse("has " + yaml::excerpt(record.unread) +
                 " beside its text, which is not read: name it with --label if it is the label, "
                 "else remove it");
  (options.labels ? *options.labels : LabelNames()).replace(record, options.names, place);
}

MaskedSample masked_sample(const Record& record, const tokenizer::Tokenizer& tokenizer,
                           const OutputOptions& options, tokenizer::Encoder& encoder,
                           const LinePlace& place) {
  const std::string where = place.path + ":" + std::to_string(place.number);
  if (!record.conversation)
    return completion_sample(record.text, *record.completion, tokenizer, options.special,
                             options.end_of_text, encoder, where);
  if (!options.chat) place.refuse("has messages, and there is no template to write them with");
  try {
    return masked_tokens(options.chat->render(*record.conversation), tokenizer, encoder, where);
  } catch (const UserError& problem) {
    if (problem.code() != ExitCode::bad_data) throw;
    place.refuse(problem.what());
  }
}

EncodedPart encode_part(const std::vector<Input>& inputs, const Part& part,
                        const tokenizer::Tokenizer& tokenizer, const OutputOptions& options,
                        tokenizer::Encoder& encoder, const OpenInput& open) {
  return PartEncoder(inputs, tokenizer, options, encoder).encode(part, open);
}

}  // namespace trainx::corpus
