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

struct SyntaxError {
  Location where;
  std::size_t byte = 0;
  std::string sentence;
};

std::string sentence_for(const std::string& message) {
  namespace E = YAML::ErrorMsg;
  if (message == E::EOF_IN_SCALAR) return "a quote is opened and never closed";
  if (message == E::END_OF_MAP_FLOW) return "a '{' is not closed here: '}' or ',' is missing, or a value with '{', '}' or ',' needs quotes";
  if (message == E::END_OF_SEQ_FLOW) return "a '[' is not closed here: ']' or ',' is missing, or a value with '[', ']' or ',' needs quotes";
  if (message == E::END_OF_MAP) return "does not fit here: check the indentation, and that every key ends in ': '";
  if (message == E::END_OF_SEQ) return "does not fit the list above: check the indentation, and that every item starts with '- '";
  if (message == E::MAP_VALUE || message == E::MAP_KEY) return "a second ':' in one value, or wrong indentation: quote the value, or mend the indentation";
  if (message == E::TAB_IN_INDENTATION) return "is indented with a tab: YAML is indented with spaces";
  if (message == E::FLOW_END) return "a ']' or '}' that nothing opened: quote the value or remove it";
  if (message == E::DOC_IN_SCALAR) return "a quote is still open where a document ends";
  if (message == E::UNKNOWN_TOKEN) return "a value cannot start like this: put it in quotes";
  if (message.starts_with(E::UNKNOWN_ANCHOR)) return "this alias repeats an anchor that is not defined before it: " + excerpt(message.substr(std::string(E::UNKNOWN_ANCHOR).size()));
  return "is not YAML: " + message;
}

/// One pass of the parser. Problems of the tree go to `problems`, a syntax error is handed back.
std::optional<SyntaxError> parse(const std::string& text, const std::string& file, Problems& problems, Node& root) {
  TreeBuilder builder(text, file, problems);
  std::optional<SyntaxError> error;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {}
  } catch (const StopReading&) {
    error = SyntaxError{};                // reported already
  } catch (const YAML::Exception& e) {
    error = SyntaxError{builder.location(e.mark), static_cast<std::size_t>(std::max(e.mark.pos, 0)), sentence_for(e.msg)};
  }
  root = builder.finish();
  return error;
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
  // Tabs and open quotes are reported and mended in a copy, so that what comes after them is looked at too.
  std::string text = original;
  bool mended = replace_tabs(text, file, problems);
  constexpr int most_mends = 16;
  for (int mends = 0;; ++mends) {
    Problems found;
    document.root = Node{};
    const auto error = parse(text, file, found, document.root);
    const auto open = error && !error->sentence.empty() ? find_open_quote(text) : std::nullopt;
    if (open && open->opened <= error->byte && mends < most_mends) {
      problems.add(locate(text, open->opened, file), "", "a quote is opened here and not closed on its line: close it");
      mended = true;
      if (!open->in_flow) {
        text.insert(open->line_end, 1, open->quote);
        if (open->quote == '"' && open->line_end > 0 && text[open->line_end - 1] == '\\') text[open->line_end - 1] = ' ';
        continue;
      }
    }
    // After a mend a syntax error may be the mend's own: it is shown once the first one is mended by its author.
    if (error && !error->sentence.empty() && !mended) found.add(error->where, "", error->sentence);
    problems.append(found);
    document.complete = !error && !mended;
    break;
  }
  if (document.root.where.file.empty()) document.root.where = {file, 1, 1};
  return document;
}

}  // namespace trainx::yaml
