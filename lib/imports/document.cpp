#include "imports/document.hpp"
#include "core/error.hpp"
#include "yaml/read.hpp"
#include "yaml/text.hpp"
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace trainx::imports {
namespace {

using nlohmann::json;
using yaml::Location, yaml::Node;

[[noreturn]] void refuse(const Location& where, const std::string& sentence) {
  throw UserError(ExitCode::bad_data, yaml::to_string(where) + ": " + sentence);
}

void refuse_first(const yaml::Problems& problems) {
  if (!problems.empty()) throw UserError(ExitCode::bad_data, problems.lines().front());
}

/// Reads characters and lets `seen` know how far the parser has come.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  Characters(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  Characters& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  bool operator==(const Characters& other) const { return at_ == other.at_; }
  bool operator!=(const Characters& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

/// JSON's events become the tree. Keys are met in the order of the text: line and column are
/// counted on from the last one.
class JsonBuilder : public nlohmann::json_sax<json> {
 public:
  JsonBuilder(const std::string& text, const std::string& file)
      : text_(text), file_(file), seen_(text.data()), where_{file, 1, 1} {}

  Node read() {
    const char* const begin = text_.data();
    const char* const end = begin + text_.size();
    json::sax_parse(Characters(begin, &seen_), Characters(end, &seen_), this,
                    json::input_format_t::json, true, true);
    return std::move(root_);
  }

  bool null() override { return add(Node::Kind::null, "null", false); }
  bool boolean(bool value) override {
    return add(Node::Kind::scalar, value ? "true" : "false", false);
  }
  bool number_integer(number_integer_t value) override {
    return add(Node::Kind::scalar, std::to_string(value), false);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(Node::Kind::scalar, std::to_string(value), false);
  }
  bool number_float(number_float_t, const string_t& text) override {
    return add(Node::Kind::scalar, text, false);
  }
  bool string(string_t& value) override { return add(Node::Kind::scalar, value, true); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::map); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Node::Kind::sequence); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const auto after = static_cast<std::size_t>(seen_ - text_.data());  // the closing quote
    std::size_t quote = after - 1;
    const auto escaped = [&](std::size_t at) {
      std::size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
      return slashes % 2 == 1;
    };
    do --quote;
    while (quote > 0 && (text_[quote] != '"' || escaped(quote)));
    move_to(quote);
    Level& level = levels_.back();
    if (const auto [first, is_first] = level.lines.emplace(name, where_.line); !is_first)
      refuse(where_, yaml::excerpt(name) + " is there twice, first in line " +
                         std::to_string(first->second));
    level.key = name;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool too_large = dynamic_cast<const json::out_of_range*>(&error) != nullptr;
    const Location where = yaml::locate(text_,
                                        too_large  ? static_cast<std::size_t>(seen_ - text_.data())
                                        : byte > 0 ? byte - 1
                                                   : 0,
                                        file_);
    refuse(where, too_large ? "a number that is too large" : "is not JSON from here on");
  }

 private:
  struct Level {
    Node node;
    std::string key;
    std::map<std::string, int> lines;  // of its keys
  };

  void move_to(std::size_t byte) {
    for (; counted_ < byte; ++counted_) {
      if (text_[counted_] == '\n') {
        ++where_.line;
        where_.column = 1;
      } else if ((static_cast<unsigned char>(text_[counted_]) & 0xC0) != 0x80) {
        ++where_.column;
      }
    }
  }
  bool add(Node::Kind kind, std::string text, bool quoted) {
    Node node;
    node.kind = kind;
    node.where = where_;
    node.text = std::move(text);
    node.quoted = quoted;
    return take(std::move(node));
  }
  bool take(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Level& level = levels_.back();
    const Location where = node.where;
    if (level.node.is_map())
      level.node.entries.push_back({level.key, where, std::move(node)});
    else
      level.node.items.push_back(std::move(node));
    return true;
  }
  bool open(Node::Kind kind) {
    if (levels_.size() >= yaml::deepest_nesting)
      refuse(where_, "is nested deeper than " + std::to_string(yaml::deepest_nesting) + " levels");
    Level level;
    level.node.kind = kind;
    level.node.where = where_;
    levels_.push_back(std::move(level));
    return true;
  }
  bool close() {
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    return take(std::move(node));
  }

  const std::string& text_;
  const std::string& file_;
  const char* seen_;
  Location where_;           // of the last key
  std::size_t counted_ = 0;  // bytes up to there
  std::vector<Level> levels_;
  Node root_;
};

}  // namespace

Node read_document(const std::string& text, const std::string& file) {
  yaml::Problems problems;
  if (!yaml::check_bytes(text, file, problems)) {
    if (text.size() > yaml::largest_document)
      refuse({file, 1, 1}, "is larger than 1 MiB, which no settings are: is this the right file?");
    refuse_first(problems);
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  Node root;
  if (is_json) {
    root = JsonBuilder(text, file).read();
  } else {
    root = yaml::read_document(text, file, problems).root;
    refuse_first(problems);
  }
  if (!root.is_map())
    refuse({file, 1, 1}, "must be a map of settings, not " + std::string(kind_name(root)));
  return root;
}

}  // namespace trainx::imports
