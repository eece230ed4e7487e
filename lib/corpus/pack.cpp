#include "corpus/pack.hpp"
#include "core/error.hpp"
#include "core/file_writer.hpp"
#include "core/files.hpp"
#include "corpus/first_fit_rows.hpp"
#include "corpus/json_numbers.hpp"
#include "data/source.hpp"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

namespace trainx::corpus {
namespace {

constexpr std::size_t write_bytes = std::size_t{1} << 20;  // at once

/// Tokens [first, first + tokens) of a document.
struct Piece {
  std::int64_t document = 0, first = 0;
};

struct Pieces {
  std::vector<Piece> pieces;
  std::vector<std::int32_t> lengths;
};

/// Of a document that is longer than a row each piece begins with the last token of the one before,
/// so that every token but the document's first is predicted once.
Pieces cut_into_pieces(const Documents& documents, std::int64_t row_length, PackReport& report) {
  Pieces out;
  report.documents = documents.count();
  for (std::int64_t d = 0; d < documents.count(); ++d) {
    const std::int64_t length = documents.length(d);
    report.cut += length > row_length;
    for (std::int64_t first = 0; first == 0 || first < length - 1; first += row_length - 1) {
      out.pieces.push_back({d, first});
      out.lengths.push_back(static_cast<std::int32_t>(std::min(row_length, length - first)));
    }
  }
  return out;
}

/// Indices of pieces, those of row 0 first, each row's in order; and how many each row has.
struct Rows {
  std::vector<std::int64_t> pieces, counts;
};

Rows rows_of(const std::vector<std::int64_t>& row_of_piece) {
  Rows out;
  for (const std::int64_t row : row_of_piece) {
    if (row >= static_cast<std::int64_t>(out.counts.size()))
      out.counts.resize(static_cast<std::size_t>(row) + 1);
    ++out.counts[static_cast<std::size_t>(row)];
  }
  std::vector<std::int64_t> next(out.counts.size());
  std::exclusive_scan(out.counts.begin(), out.counts.end(), next.begin(), std::int64_t{0});
  out.pieces.resize(row_of_piece.size());
  for (std::size_t i = 0; i < row_of_piece.size(); ++i)
    out.pieces[static_cast<std::size_t>(next[static_cast<std::size_t>(row_of_piece[i])]++)] =
        static_cast<std::int64_t>(i);
  return out;
}

double padding_share(std::int64_t tokens, std::int64_t rows, std::int64_t row_length) {
  return 1 - static_cast<double>(tokens) / static_cast<double>(rows * row_length);
}

}  // namespace

PackReport pack(const PackOptions& o) {
  if (!o.out.ends_with(".jsonl"))
    throw UserError(ExitCode::usage,
                    "--out " + o.out + " does not end with .jsonl: packed rows are lines of JSON");
  if (!o.overwrite && std::filesystem::exists(o.out))
    throw UserError(ExitCode::cannot_create,
                    o.out +
                        " is there already; --overwrite replaces it, or name another file with "
                        "--out");
  if (o.sequence_length < 2)
    throw InternalError("pack: rows of " + std::to_string(o.sequence_length));
  const auto documents = open_documents(o.path, o.end_of_text);
  PackReport report;
  const auto [pieces, lengths] = cut_into_pieces(*documents, o.sequence_length, report);
  const Rows rows = rows_of(first_fit_rows(lengths, static_cast<std::int32_t>(o.sequence_length)));
  report.rows = static_cast<std::int64_t>(rows.counts.size());
  report.tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  report.most_pieces = *std::ranges::max_element(rows.counts);
  report.padding_share = padding_share(report.tokens, report.rows, o.sequence_length);
  report.padding_share_unpacked =
      padding_share(report.tokens, static_cast<std::int64_t>(pieces.size()), o.sequence_length);

  FileWriter out(o.out, 0);
  std::string text;
  const auto write = [&] {
    out.write(std::as_bytes(std::span(text)));
    text.clear();
  };
  tokenizer::Ids ids, labels, parts;
  bool learns = false;
  const std::int64_t* next = rows.pieces.data();
  for (const std::int64_t count : rows.counts) {
    ids.clear();
    labels.clear();
    parts.clear();
    for (std::int64_t i = 0; i < count; ++i, ++next) {
      const Piece& piece = pieces[static_cast<std::size_t>(*next)];
      parts.push_back(lengths[static_cast<std::size_t>(*next)]);
      documents->read(piece.document, piece.first, parts.back(), ids, labels);
    }
    learns = learns || !documents->has_labels() ||
             std::ranges::any_of(labels, [](std::int32_t l) { return l != data::no_target; });
    text += "{\"input_ids\": ";
    append_list(std::span<const std::int32_t>(ids), text);
    if (documents->has_labels()) {
      text += ", \"labels\": ";
      append_list(std::span<const std::int32_t>(labels), text);
    }
    text += ", \"document_lengths\": ";
    append_list(std::span<const std::int32_t>(parts), text);
    text += "}\n";
    if (text.size() >= write_bytes) write();
  }
  if (!learns)
    throw UserError(ExitCode::bad_data, o.path +
                                            " has no target: all labels are -100, so that nothing "
                                            "would be learned of its rows");
  write();
  out.commit();
  fsync_folder(folder_of(o.out));
  const data::AboutFile whose = o.tokenizer.tokenizer.empty() ? data::read_about(o.path)
                                                              : o.tokenizer;
  nlohmann::ordered_json about{{"tokens", report.tokens},
                               {"documents", report.documents},
                               {"rows", report.rows},
                               {"sequence_length", o.sequence_length}};
  if (!whose.chat_template.empty()) about["chat_template_text"] = whose.chat_template;
  data::add_tokenizer(whose, o.out, about);
  data::write_about(o.out, about);
  return report;
}

}  // namespace trainx::corpus
