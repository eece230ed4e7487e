#include "corpus/inspect.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_index.hpp"
#include "data/mapped_file.hpp"
#include "data/tokens/token_reader.hpp"
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
  Parts(const InspectOptions& o, Inspection& out) : o_(o), out_(out) { out_.shortest = std::numeric_limits<std::int64_t>::max(); }

  /// Null where this part is not shown.
  Shown* add(std::int64_t begin, std::int64_t tokens) {
    const std::int64_t number = out_.parts++;
    out_.shortest = std::min(out_.shortest, tokens);
    out_.longest = std::max(out_.longest, tokens);
    if (number < o_.first || number >= o_.first + o_.shown) return nullptr;
    out_.shown.push_back({number, begin, tokens, {}, {}, std::nullopt});
    return &out_.shown.back();
  }

 private:
  const InspectOptions& o_;
  Inspection& out_;
};

/// What the file beside a token file says of it, and the tokenizer.
std::optional<std::int32_t> end_of_text_of(const InspectOptions& o) {
  if (o.end_of_text) return o.end_of_text;
  const std::string about = o.path + ".json";
  if (std::filesystem::is_regular_file(about)) {
    const auto json = nlohmann::json::parse(read_file(about), nullptr, false);
    if (const auto id = json.is_object() ? json.find("end_of_text") : json.end(); json.is_object() && id != json.end() && id->is_number_unsigned()) return id->get<std::int32_t>();
  }
  if (o.tokenizer && o.tokenizer->end_of_text() >= 0) return o.tokenizer->end_of_text();
  return std::nullopt;
}

void inspect_tokens(const InspectOptions& o, Inspection& out) {
  const data::tokens::TokenReader reader(o.path, {}, 0);
  out.kind = "token file";
  out.tokens = reader.count();
  out.bytes_per_token = reader.layout().width;
  out.in_loss = std::max<std::int64_t>(0, out.tokens - 1);       // all but the first are predicted
  const auto end_of_text = end_of_text_of(o);
  const auto& starts = reader.layout().documents;
  Parts parts(o, out);
  std::int64_t begin = 0;
  std::size_t next_start = 0;
  const auto end_document = [&](std::int64_t end) {
    if (end == begin) return;
    if (Shown* shown = parts.add(begin, end - begin)) {
      for (std::int64_t i = begin; i < std::min(end, begin + o.most_tokens); ++i) {
        shown->ids.push_back(reader.token(i));
        shown->in_loss.push_back(i > 0);
      }
    }
    begin = end;
  };
  for (std::int64_t i = 0; i < out.tokens; ++i) {
    while (next_start < starts.size() && starts[next_start] <= i) end_document(starts[next_start++]);
    const std::int32_t id = reader.token(i);
    out.highest_id = std::max<std::int64_t>(out.highest_id, id);
    if (starts.empty() && end_of_text && id == *end_of_text) end_document(i + 1);
  }
  end_document(out.tokens);
  if (o.sequence_length > 0) out.rows = std::max<std::int64_t>(0, (out.tokens - 1) / o.sequence_length);
}

/// data.pad_to by default: 32, 64, ... up to sequence_length.
std::int64_t padded(std::int64_t tokens, std::int64_t sequence_length) {
  std::int64_t row = 32;
  while (row < tokens) row *= 2;
  return std::min(row, sequence_length);
}

void inspect_lines(const InspectOptions& o, Inspection& out) {
  const data::MappedFile file(o.path);
  const data::labelled::LineIndex lines(file.bytes());
  data::labelled::WantedFields wanted;
  wanted.fill(true);
  const auto parser = data::labelled::make_json_parser(wanted);
  out.kind = "labelled lines";
  std::map<std::int64_t, std::int64_t> labels;
  std::int64_t in_rows = 0, kept = 0;
  Parts parts(o, out);
  data::labelled::Line line;
  for (std::int64_t i = 0; i < lines.size(); ++i) {
    const LinePlace place{o.path, i + 1};
    if (data::labelled::is_blank(lines.line(i))) place.refuse("is blank: only the end of a file may be");
    line.clear();
    parser->parse(lines.line(i), place, line);
    const auto& ids = line[FieldName::input_ids].values;
    const auto& targets = line[FieldName::labels];
    if (ids.empty()) place.refuse("has no input_ids");
    if (targets.given && targets.values.size() != ids.size()) place.refuse("has " + std::to_string(targets.values.size()) + " labels for " + std::to_string(ids.size()) + " input_ids");
    const auto tokens = static_cast<std::int64_t>(ids.size());
    Shown* shown = parts.add(i + 1, tokens);
    out.tokens += tokens;
    if (line[FieldName::label].given) ++labels[line[FieldName::label].values[0]];
    if (shown && line[FieldName::label].given) shown->label = line[FieldName::label].values[0];
    for (std::size_t t = 0; t < ids.size(); ++t) {
      constexpr std::int64_t beyond = std::numeric_limits<std::int32_t>::max();
      if (ids[t] < 0 || ids[t] > beyond) place.refuse("has the token id " + std::to_string(ids[t]));
      out.highest_id = std::max(out.highest_id, ids[t]);
      const bool predicted = targets.given && targets.values[t] >= 0;
      out.in_loss += predicted;
      if (!shown || static_cast<std::int64_t>(t) >= o.most_tokens) continue;
      shown->ids.push_back(static_cast<std::int32_t>(ids[t]));
      shown->in_loss.push_back(predicted);
    }
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
  if (!std::filesystem::exists(o.path)) throw UserError(ExitCode::input_missing, "there is no file " + o.path + " to inspect");
  if (o.path.ends_with(".jsonl") || o.path.ends_with(".json")) inspect_lines(o, out);
  else inspect_tokens(o, out);
  out.bytes = static_cast<std::int64_t>(std::filesystem::file_size(o.path));
  if (out.parts == 0) out.shortest = 0;
  if (o.tokenizer && out.highest_id >= o.tokenizer->vocab_size())
    throw UserError(ExitCode::bad_data, o.path + " has the token id " + std::to_string(out.highest_id) + ", but the tokenizer " + o.tokenizer->path() + " has ids below " +
                                            std::to_string(o.tokenizer->vocab_size()) + ": they do not belong together");
  return out;
}

}  // namespace trainx::corpus
