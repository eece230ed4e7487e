#include "yaml/tree_builder.hpp"
#include "yaml/read.hpp"
#include <algorithm>

namespace trainx::yaml {
namespace {

/// What a copy of a node costs: its text and a share for each node.
std::size_t weight(const Node& node) {
  std::size_t sum = 8 + node.text.size();
  for (const Node& item : node.items) sum += weight(item);
  for (const Entry& entry : node.entries) sum += entry.key.size() + weight(entry.value);
  return sum;
}

}  // namespace

Location TreeBuilder::location(const YAML::Mark& mark) const {
  if (mark.is_null()) return {file_, 1, 1};
  // yaml-cpp counts columns in bytes; people count characters. Marks come mostly in order, so
  // counting goes on from the last one.
  const auto byte = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
  if (mark.line != counted_.line || byte < counted_.byte)
    counted_ = {mark.line,
                byte - std::min(byte, static_cast<std::size_t>(std::max(mark.column, 0))), 1};
  for (; counted_.byte < byte; ++counted_.byte)
    counted_.column += (static_cast<unsigned char>(text_[counted_.byte]) & 0xC0) != 0x80;
  return {file_, mark.line + 1, counted_.column};
}

std::string TreeBuilder::path() const {
  std::string out;
  for (const Level& level : levels_) {
    if (level.node.is_map() && level.has_key)
      out += (out.empty() ? "" : ".") + level.key;
    else if (!level.node.is_map())
      out += "[" + std::to_string(level.node.items.size()) + "]";
  }
  return out;
}

Node TreeBuilder::finish() {
  while (!levels_.empty()) {
    if (levels_.back().is_flow) levels_.back().node.kind = Node::Kind::broken;
    close();
  }
  return std::move(root_);
}

std::optional<Location> TreeBuilder::open_flow() const {
  return levels_.empty() || !levels_.back().is_flow
             ? std::nullopt
             : std::optional<Location>(levels_.back().node.where);
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (started_) {
    problems_.add(location(mark), "", "a second document begins here: a recipe is one document");
    throw StopReading();
  }
  started_ = true;
}

void TreeBuilder::check_tag(const YAML::Mark& mark, const std::string& tag) {
  if (!tag.empty() && tag != "?" && tag != "!")
    problems_.add(location(mark), path(),
                  "has the tag " + excerpt(tag) + ": recipes have no tags, remove it");
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  Node node;
  node.where = location(mark);
  for (const std::string_view spelling : {"null", "Null", "NULL", "~"})
    if (!mark.is_null() &&
        text_.compare(static_cast<std::size_t>(mark.pos), spelling.size(), spelling) == 0)
      node.text = spelling;
  if (key_expected()) {
    problems_.add(node.where, path(), "a key is missing here: keys are words");
    drop_key();
    return;
  }
  // the mark is that of what comes next
  if (node.text.empty() && !levels_.empty() && levels_.back().has_key)
    node.where = levels_.back().key_where;
  take(std::move(node), anchor);
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (key_expected()) {
    problems_.add(location(mark), path(), "an alias cannot be a key: write the key");
    drop_key();
    return;
  }
  Node node;
  node.kind = Node::Kind::broken;
  node.where = location(mark);
  const auto target = anchored_.find(anchor);
  if (target == anchored_.end()) {
    problems_.add(node.where, path(),
                  "this alias stands inside the value that it repeats, which would never end: "
                  "write the value");
  } else if ((expanded_ += weight(target->second)) > largest_expansion) {
    problems_.add(node.where, path(), "aliases expand beyond 64 KiB here: write the values");
    throw StopReading();
  } else {
    node = target->second;
  }
  take(std::move(node), 0);
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  check_tag(mark, tag);
  const auto byte = static_cast<std::size_t>(std::max(mark.pos, 0));
  if (tag == "!" && byte < text_.size() && (text_[byte] == '"' || text_[byte] == '\'')) {
    open_quote_ = open_quote_at(text_, byte, !levels_.empty() && levels_.back().is_flow);
    if (open_quote_) throw StopReading();
  }
  if (key_expected()) return take_key(location(mark), as_utf8(value));
  Node node;
  node.kind = Node::Kind::scalar;
  node.where = location(mark);
  node.text = as_utf8(value);
  node.quoted = tag == "!";
  take(std::move(node), anchor);
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                                  YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
  open(Node::Kind::sequence, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value style) {
  open(Node::Kind::map, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
}

void TreeBuilder::open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor, bool is_flow) {
  if (levels_.size() >= deepest_nesting) {
    problems_.add(location(mark), "",
                  "is nested deeper than " + std::to_string(deepest_nesting) + " levels");
    throw StopReading();
  }
  check_tag(mark, tag);
  Level level;
  level.node.kind = kind;
  level.node.where = location(mark);
  level.anchor = anchor;
  level.is_flow = is_flow || (!levels_.empty() && levels_.back().is_flow);
  level.is_key = key_expected();
  if (level.is_key) {
    problems_.add(level.node.where, path(),
                  "a key must be a word, not " + std::string(kind_name(level.node)) +
                      " (is '${...}' or '{...}' missing its quotes?)");
  }
  levels_.push_back(std::move(level));
}

void TreeBuilder::close() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  if (level.is_key) return drop_key();
  take(std::move(level.node), level.anchor);
}

void TreeBuilder::take_key(const Location& where, const std::string& key) {
  Level& level = levels_.back();
  level.has_key = true;
  level.key = key;
  level.key_where = where;
  level.drop = true;
  const auto [first, is_new] = level.lines.emplace(key, where.line);
  if (key == "<<") {
    problems_.add(where, path(),
                  "merge keys ('<<') are not read: use 'extends', or write the keys");
  } else if (key.empty()) {
    problems_.add(where, path(), "a key is missing here: keys are words");
  } else if (!is_new) {
    problems_.add(
        where, path(),
        "is given twice, first in line " + std::to_string(first->second) + ": remove one");
  } else {
    level.drop = false;
  }
}

void TreeBuilder::take(Node node, YAML::anchor_t anchor) {
  if (anchor != 0) anchored_[anchor] = node;
  if (levels_.empty()) {
    root_ = std::move(node);
    return;
  }
  Level& level = levels_.back();
  if (level.node.kind == Node::Kind::sequence) {
    level.node.items.push_back(std::move(node));
    return;
  }
  if (!level.drop)
    level.node.entries.push_back({std::move(level.key), level.key_where, std::move(node)});
  level.has_key = level.drop = false;
  level.key.clear();
}

}  // namespace trainx::yaml
