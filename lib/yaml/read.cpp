#include "yaml/read.hpp"
#include "yaml/text.hpp"
#include "yaml/tree_builder.hpp"
#include <algorithm>
#include <optional>
#include <sstream>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace trainx::yaml {
namespace {

struct Stop {  // why the parser did not reach the end
  Location where;
  std::string sentence;                 // empty: reported already
  std::optional<OpenQuote> open_quote;  // the likely cause
};

std::string sentence_for(const std::string& message) {
  namespace E = YAML::ErrorMsg;
  if (message == E::EOF_IN_SCALAR) return "a quote is opened and never closed";
  if (message == E::END_OF_MAP_FLOW)
    return "this '{' is not closed: '}' or ',' is missing, or a value with '{', '}' or ',' needs "
           "quotes";
  if (message == E::END_OF_SEQ_FLOW)
    return "this '[' is not closed: ']' or ',' is missing, or a value with '[', ']' or ',' needs "
           "quotes";
  if (message == E::END_OF_MAP)
    return "does not fit here: check the indentation, and that every key ends in ': '";
  if (message == E::END_OF_SEQ)
    return "does not fit the list above: check the indentation, and that every item starts with '- "
           "'";
  if (message == E::MAP_VALUE || message == E::MAP_KEY)
    return "a second ':' in one value, or wrong indentation: quote the value, or mend the "
           "indentation";
  if (message == E::TAB_IN_INDENTATION)
    return "is indented with a tab: YAML is indented with spaces";
  if (message == E::FLOW_END)
    return "a ']' or '}' that nothing opened: quote the value or remove it";
  if (message == E::DOC_IN_SCALAR) return "a quote is still open where a document ends";
  if (message == E::UNKNOWN_TOKEN) return "a value cannot start like this: put it in quotes";
  if (message.starts_with(E::UNKNOWN_ANCHOR)) {
    return "this alias repeats an anchor that is not defined before it: " +
           excerpt(message.substr(std::string_view(E::UNKNOWN_ANCHOR).size()));
  }
  if (message.starts_with(E::INVALID_ESCAPE))  // behind it stands one byte, half a letter maybe
    return "a '\\' in double quotes stands before a character that needs none: write '\\\\', "
           "or use single quotes";
  return "is not YAML: " + message;
}

/// One pass of the parser. Problems of the tree go to `problems`, what ended it early is handed
/// back.
std::optional<Stop> parse(const std::string& text, const std::string& file, Problems& problems,
                          Node& root) {
  TreeBuilder builder(text, file, problems);
  std::optional<Stop> stop;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {}
  } catch (const StopReading&) {
    stop = Stop{{}, "", builder.open_quote()};
  } catch (const YAML::Exception& e) {
    stop = Stop{builder.location(e.mark), sentence_for(e.msg), find_open_quote(text)};
    const auto flow = builder.open_flow();
    if (flow &&
        (e.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || e.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW))
      stop->where = *flow;
    if (stop->open_quote &&
        stop->open_quote->opened > static_cast<std::size_t>(std::max(e.mark.pos, 0)))
      stop->open_quote.reset();
  }
  root = builder.finish();
  return stop;
}

}  // namespace

Document read_document(const std::string& original, const std::string& file, Problems& problems) {
  Document document;
  document.root.where = {file, 1, 1};
  if (!check_bytes(original, file, problems)) {
    document.root.kind = Node::Kind::broken;
    document.complete = false;
    return document;
  }
  // Tabs and open quotes are reported and mended in a copy, so that what comes after them is looked
  // at too.
  std::string text = original;
  bool mended = replace_tabs(text, file, problems);
  constexpr int most_mends = 16;
  for (int mends = 0;; ++mends) {
    Problems found;
    document.root = Node{};
    const auto stop = parse(text, file, found, document.root);
    const bool open = stop && stop->open_quote;
    if (open) {
      const OpenQuote& quote = *stop->open_quote;
      problems.add(locate(text, quote.opened, file), "",
                   "a quote is opened here and not closed on its line: close it");
      mended = true;
      if (!quote.in_flow && mends < most_mends) {
        // it would escape the quote
        if (quote.quote == '"' && text[quote.line_end - 1] == '\\') text[quote.line_end - 1] = ' ';
        text.insert(quote.line_end, 1, quote.quote);
        continue;
      }
    }
    // After a mend a syntax error may be the mend's own: it is told once its author has mended the
    // first one.
    if (stop && !stop->sentence.empty() && !mended) found.add(stop->where, "", stop->sentence);
    problems.append(found);
    document.complete = !stop && !mended;
    break;
  }
  if (document.root.where.file.empty()) document.root.where = {file, 1, 1};
  return document;
}

}  // namespace trainx::yaml
