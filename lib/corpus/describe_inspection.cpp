#include "core/units.hpp"
#include "corpus/inspect.hpp"
#include "data/text/utf8.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::corpus {
namespace {

using tokenizer::Ids;

/// Text on one line: what would move the cursor is written out.
std::string visible(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (text[i] == '\n')
      out += "\\n";
    else if (text[i] == '\t')
      out += "\\t";
    else if (text[i] == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7f || c1) {
      char escaped[16];
      std::snprintf(escaped, sizeof escaped, "\\x%02x",
                    c1 ? static_cast<unsigned char>(text[++i]) : byte);
      out += escaped;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// A token by itself: its text, or where that is no text (a part of a character) as the vocabulary
/// spells it, or its number.
std::string token_text(const tokenizer::Tokenizer* t, std::int32_t id) {
  if (!t) return std::to_string(id);
  const std::string alone = t->decode(std::span(&id, 1), false), spelled = t->token_of(id);
  const bool is_text = !alone.empty() && alone.find("\xEF\xBF\xBD") == std::string::npos;
  return visible(is_text ? alone : spelled.empty() ? std::to_string(id) : spelled);
}

/// A class by its name, or its number.
std::string class_text(std::int64_t number, const std::vector<std::string>& names) {
  return number >= 0 && number < std::ssize(names)
             ? visible(names[static_cast<std::size_t>(number)])
             : std::to_string(number);
}

/// Tokens with bars between them, in lines; under those of which only some are predicted, marks
/// that say which.
std::string token_lines(const Shown& shown, const tokenizer::Tokenizer* t,
                        const std::vector<std::string>& class_names, std::size_t columns,
                        bool color) {
  // The first token of a text is predicted nowhere, which needs no marks.
  const bool marks = shown.classes.empty() && std::ranges::count(shown.in_loss, true) > 0 &&
                     std::ranges::count(shown.in_loss, false) > 1;
  // edge: a document ends
  const std::string bar = color ? "\x1b[2m|\x1b[0m" : "|", edge = color ? "\x1b[1m||\x1b[0m" : "||";
  std::string out, line, mark;
  std::size_t used = 0;
  const auto flush = [&] {
    if (used == 0) return;
    out += "    " + line + "\n";
    if (marks && mark.find('^') != std::string::npos)
      out += "    " + mark.substr(0, mark.find_last_of('^') + 1) + "\n";
    line.clear();
    mark.clear();
    used = 0;
  };
  for (std::size_t i = 0; i < shown.ids.size(); ++i) {
    std::string text = token_text(t, shown.ids[i]);
    if (i < shown.classes.size() && shown.classes[i] >= 0)
      text += "/" + class_text(shown.classes[i], class_names);
    const std::size_t width = characters(text);
    const bool ends = i + 1 < shown.begins.size() && shown.begins[i + 1];
    if (used > 0 && used + width + 2 > columns - std::min<std::size_t>(columns, 6)) flush();
    line += text + (ends ? edge : bar);
    mark += std::string(width, shown.in_loss[i] ? '^' : ' ') + (ends ? "  " : " ");
    used += width + (ends ? 2 : 1);
  }
  flush();
  const auto more = shown.tokens - static_cast<std::int64_t>(shown.ids.size());
  return more > 0 ? out + "    and " + std::to_string(more) + " more\n" : out;
}

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

}  // namespace

std::string describe(const Inspection& in, const InspectOptions& o, int columns, bool color) {
  const bool stream = in.kind == "token file";
  const std::string part = stream ? "document" : "sample";
  std::string out = in.path + ": " + in.kind + ", " + human_bytes(in.bytes) +
                    (stream ? ", " + std::to_string(in.bytes_per_token) + " bytes a token" : "") +
                    "\n";
  out += "tokens     " + std::to_string(in.tokens) + ", ids up to " +
         std::to_string(in.highest_id) + "\n";
  const double mean = in.parts > 0 ? static_cast<double>(in.tokens) / static_cast<double>(in.parts)
                                   : 0;
  char mean_text[32];
  std::snprintf(mean_text, sizeof mean_text, "%.1f", mean);
  out += part + "s" + std::string(stream ? "  " : "    ") + std::to_string(in.parts) + ", of " +
         std::to_string(in.shortest) + " to " + std::to_string(in.longest) + " tokens, " +
         mean_text + " on average\n";
  if (in.documents > 0) out += "documents  " + std::to_string(in.documents) + ", packed\n";
  if (!in.labels.empty()) {
    out += "labels    ";
    for (const auto& [label, count] : in.labels)
      out += " " + class_text(label, in.label_names) + ": " + std::to_string(count) + " (" +
             percent(static_cast<double>(count) / static_cast<double>(in.parts)) + ")";
    out += "\n";
  }
  if (in.in_loss > 0 || stream)
    out += "in loss    " + std::to_string(in.in_loss) + " tokens, " +
           percent(static_cast<double>(in.in_loss) /
                   static_cast<double>(std::max<std::int64_t>(in.tokens, 1))) +
           "\n";
  if (o.sequence_length > 0)
    out += "rows       " + std::to_string(in.rows) + " of " + std::to_string(o.sequence_length) +
           " tokens, " + percent(in.padding_share) + " of them padding" +
           (in.longer > 0 ? "; " + std::to_string(in.longer) + " samples are longer" : "") + "\n";
  if (in.without_target > 0)
    out += "no target  " + std::to_string(in.without_target) +
           " samples: all labels are -100, or the first alone is not\n";
  for (const Shown& s : in.shown) {
    out += "\n" + part + " " + std::to_string(s.number) + ", " +
           (stream ? "from token " : "line ") + std::to_string(s.begin) + ": " +
           std::to_string(s.tokens) + " tokens" +
           (s.label ? ", label " + class_text(*s.label, in.label_names) : "") + "\n";
    const auto width = static_cast<std::size_t>(std::max(columns, 20));
    out += token_lines(s, o.tokenizer, in.label_names, width, color);
    if (s.target_tokens == 0) continue;
    Shown target{.tokens = s.target_tokens, .ids = s.targets};
    target.in_loss.assign(s.targets.size(), true);
    out += "  to write: " + std::to_string(s.target_tokens) + " tokens\n";
    out += token_lines(target, o.tokenizer, in.label_names, width, color);
  }
  return out;
}

nlohmann::ordered_json to_json(const Inspection& in, const InspectOptions& o) {
  const bool stream = in.kind == "token file";
  nlohmann::ordered_json out{{"file", in.path},
                             {"kind", in.kind},
                             {"bytes", in.bytes},
                             {"tokens", in.tokens},
                             {"highest_id", in.highest_id},
                             {stream ? "documents" : "samples", in.parts},
                             {"shortest", in.shortest},
                             {"longest", in.longest},
                             {"tokens_in_loss", in.in_loss}};
  if (in.documents > 0) out["documents"] = in.documents;
  if (!stream) out["samples_without_target"] = in.without_target;
  if (!in.label_names.empty()) out["label_names"] = in.label_names;
  if (stream) out["bytes_per_token"] = in.bytes_per_token;
  if (o.sequence_length > 0) {
    out["rows"] = in.rows;
    out["padding_share"] = in.padding_share;
    if (!stream) out["longer_samples"] = in.longer;
  }
  for (const auto& [label, count] : in.labels) out["labels"][std::to_string(label)] = count;
  out["shown"] = nlohmann::ordered_json::array();
  for (const Shown& s : in.shown) {
    nlohmann::ordered_json item{{"number", s.number},
                                {"begin", s.begin},
                                {"tokens", s.tokens},
                                {"ids", s.ids},
                                {"in_loss", s.in_loss}};
    if (s.label) item["label"] = *s.label;
    if (!s.begins.empty()) item["begins"] = s.begins;
    if (!s.classes.empty()) item["classes"] = s.classes;
    if (s.target_tokens > 0) {
      item["target_tokens"] = s.target_tokens;
      item["target_ids"] = s.targets;
      if (o.tokenizer) item["target_text"] = o.tokenizer->decode(s.targets, false);
    }
    if (o.tokenizer) item["text"] = o.tokenizer->decode(s.ids, false);
    out["shown"].push_back(std::move(item));
  }
  return out;
}

}  // namespace trainx::corpus
