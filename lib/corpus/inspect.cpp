#include "corpus/inspect.hpp"
#include "core/error.hpp"
#include "data/files/about_file.hpp"
#include "corpus/documents.hpp"
#include "data/foreign_file.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_index.hpp"
#include "data/labelled/line_rules.hpp"
#include "data/labelled/row_positions.hpp"
#include "data/labelled/target_mask.hpp"
#include "data/packed_file.hpp"
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

namespace trainx::corpus {
namespace {

using data::labelled::FieldName;
using data::labelled::LinePlace;

/// Parts of a file as they go by.
class Parts {
 public:
  Parts(const InspectOptions& o, Inspection& out) : o_(o), out_(out) {
    out_.shortest = std::numeric_limits<std::int64_t>::max();
  }

  /// Null where this part is not shown.
  Shown* add(std::int64_t begin, std::int64_t tokens) {
    const std::int64_t number = out_.parts++;
    out_.shortest = std::min(out_.shortest, tokens);
    out_.longest = std::max(out_.longest, tokens);
    if (number < o_.first || number >= o_.first + o_.shown) return nullptr;
    out_.shown.push_back({.number = number, .begin = begin, .tokens = tokens});
    return &out_.shown.back();
  }

 private:
  const InspectOptions& o_;
  Inspection& out_;
};

void inspect_tokens(const InspectOptions& o, Inspection& out) {
  const data::tokens::TokenReader reader(o.path, {}, 0);
  out.kind = "token file";
  out.tokens = reader.count();
  out.bytes_per_token = reader.layout().width;
  out.in_loss = std::max<std::int64_t>(0, out.tokens - 1);  // all but the first are predicted
  Parts parts(o, out);
  for_each_document(reader, o.end_of_text ? o.end_of_text : end_of_text_of(o.path, o.tokenizer),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i)
                        out.highest_id = std::max<std::int64_t>(out.highest_id, reader.token(i));
                      if (Shown* shown = parts.add(begin, end - begin)) {
                        for (std::int64_t i = begin; i < std::min(end, begin + o.most_tokens);
                             ++i) {
                          shown->ids.push_back(reader.token(i));
                          shown->in_loss.push_back(i > 0);
                        }
                      }
                    });
  if (o.sequence_length > 0)
    out.rows = std::max<std::int64_t>(0, (out.tokens - 1) / o.sequence_length);
}

/// data.pad_to by default: 32, 64, ... up to sequence_length.
std::int64_t padded(std::int64_t tokens, std::int64_t sequence_length) {
  std::int64_t row = 32;
  while (row < tokens) row *= 2;
  return std::min(row, sequence_length);
}

/// Of a packed line: whether a token is the first of a document. Empty: it is not packed.
std::vector<bool> document_begins(const data::labelled::Line& line, const LinePlace& place) {
  if (!line[FieldName::document_lengths].given) return {};
  data::labelled::check_documents(line, place);
  std::vector<bool> begins(line[FieldName::input_ids].values.size());
  std::int64_t at = 0;
  for (const std::int64_t length : line[FieldName::document_lengths].values) {
    begins[static_cast<std::size_t>(at)] = true;
    at += length;
  }
  return begins;
}

bool is_target(std::int64_t label) { return label >= 0; }

/// Whether labels say something else than the tokens in their places.
bool are_classes(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& labels) {
  for (std::size_t t = 0; t < ids.size(); ++t)
    if (labels[t] >= 0 && labels[t] != ids[t]) return true;
  return false;
}

void show_targets(const std::vector<std::int64_t>& targets, std::int64_t most, Shown& shown) {
  shown.target_tokens = std::ssize(targets);
  for (const std::int64_t target : targets)
    if (std::ssize(shown.targets) < most && target >= 0 &&
        target <= std::numeric_limits<std::int32_t>::max())
      shown.targets.push_back(static_cast<std::int32_t>(target));
}

void inspect_lines(const InspectOptions& o, Inspection& out) {
  const data::MappedFile file = data::open_unpacked(o.path);
  data::refuse_foreign(file);
  const data::labelled::LineIndex lines =
      data::labelled::LineIndex::of_json(file.bytes(), file.path());
  const auto parser = data::labelled::make_json_parser(data::labelled::all_fields());
  out.kind = "labelled lines";
  out.label_names = data::read_about(o.path).label_names;
  std::map<std::int64_t, std::int64_t> labels;
  std::int64_t in_rows = 0, kept = 0;
  Parts parts(o, out);
  data::labelled::Line line;
  for (std::int64_t i = 0; i < lines.size(); ++i) {
    const LinePlace place = lines.place(o.path, i);
    line.clear();
    parser->parse(lines.line(i), place, line);
    data::labelled::settle_positions(line, true, place);
    data::labelled::apply_target_masks(line, data::Targets::next_token, place);
    const auto& ids = line[FieldName::input_ids].values;
    const auto& targets = line[FieldName::labels];
    if (ids.empty()) place.refuse("has no input_ids");
    // as many as another text has, which seq2seq writes
    const bool of_another = targets.given && targets.values.size() != ids.size();
    const auto tokens = static_cast<std::int64_t>(ids.size());
    Shown* shown = parts.add(place.number, tokens);
    const std::vector<bool> begins = document_begins(line, place);
    out.documents += std::ranges::count(begins, true);
    out.tokens += tokens;
    if (of_another) {
      out.tokens += static_cast<std::int64_t>(targets.values.size());
      for (const std::int64_t target : targets.values) {
        out.in_loss += target >= 0;
        out.highest_id = std::max(out.highest_id, target);
      }
      if (shown) show_targets(targets.values, o.most_tokens, *shown);
    }
    if (line[FieldName::label].given) ++labels[line[FieldName::label].values[0]];
    if (shown && line[FieldName::label].given) shown->label = line[FieldName::label].values[0];
    bool has_target = of_another ? std::ranges::any_of(targets.values, is_target) : false;
    const bool classes = targets.given && !of_another && are_classes(ids, targets.values);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      constexpr std::int64_t beyond = std::numeric_limits<std::int32_t>::max();
      if (ids[t] < 0 || ids[t] > beyond) place.refuse("has the token id " + std::to_string(ids[t]));
      out.highest_id = std::max(out.highest_id, ids[t]);
      const bool predicted = of_another ? false
                             : begins.empty()
                                 ? targets.given && targets.values[t] >= 0
                                 : !begins[t] && (!targets.given || targets.values[t] >= 0);
      out.in_loss += predicted;
      has_target = has_target || predicted;
      if (!shown || static_cast<std::int64_t>(t) >= o.most_tokens) continue;
      shown->ids.push_back(static_cast<std::int32_t>(ids[t]));
      shown->in_loss.push_back(predicted);
      if (!begins.empty()) shown->begins.push_back(begins[t]);
      if (classes) shown->classes.push_back(targets.values[t]);
    }
    out.without_target += targets.given && !has_target;
    out.longer += o.sequence_length > 0 && tokens > o.sequence_length;
    if (o.sequence_length > 0) {
      in_rows += padded(tokens, o.sequence_length);
      kept += std::min(tokens, o.sequence_length);
    }
  }
  if (out.parts == 0) throw UserError(ExitCode::bad_data, o.path + " has no samples");
  if (o.sequence_length > 0) {
    out.rows = out.parts;
    out.padding_share = 1 - static_cast<double>(kept) / static_cast<double>(in_rows);
  }
  out.labels.assign(labels.begin(), labels.end());
}

}  // namespace

Inspection inspect(const InspectOptions& o) {
  Inspection out;
  out.path = o.path;
  if (!std::filesystem::exists(o.path))
    throw UserError(ExitCode::input_missing, "there is no file " + o.path + " to inspect");
  if (is_labelled_lines(o.path))
    inspect_lines(o, out);
  else
    inspect_tokens(o, out);
  out.bytes = static_cast<std::int64_t>(std::filesystem::file_size(o.path));
  if (out.parts == 0) out.shortest = 0;
  if (o.tokenizer && out.highest_id >= o.tokenizer->vocab_size())
    throw UserError(ExitCode::bad_data,
                    o.path + " has the token id " + std::to_string(out.highest_id) +
                        ", but the tokenizer " + o.tokenizer->path() + " has ids below " +
                        std::to_string(o.tokenizer->vocab_size()) +
                        ": they do not belong together");
  return out;
}

}  // namespace trainx::corpus
