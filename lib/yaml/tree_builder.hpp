// yaml-cpp's events become a located tree.
#pragma once
#include "yaml/node.hpp"
#include "yaml/text.hpp"
#include <map>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

namespace trainx::yaml {

/// Thrown out of an event to end the reading; its cause has been reported, or is open_quote().
struct StopReading : std::exception {};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, const std::string& file, Problems& problems)
      : text_(text), file_(file), problems_(problems) {}

  /// The tree so far: what is still open is closed; a '[' or '{' that is still open becomes
  /// `broken`, for where it should end is unknown.
  Node finish();
  /// Where the innermost '[' or '{' that is still open stands.
  std::optional<Location> open_flow() const;
  Location location(const YAML::Mark& mark) const;
  /// The quote without an end at which the reading stopped: yaml-cpp lets it reach to the end of
  /// the text.
  const std::optional<OpenQuote>& open_quote() const { return open_quote_; }
  /// The dotted key that is being read.
  std::string path() const;

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { close(); }

 private:
  struct Level {  // a map or list that is still open
    Node node;
    YAML::anchor_t anchor = 0;
    bool is_flow = false;
    bool is_key = false;   // stands where a key should
    bool has_key = false;  // of a map: the next node is the value of `key`
    std::string key;
    Location key_where;
    bool drop = false;                 // the key has been reported: its value is read and left out
    std::map<std::string, int> lines;  // of its keys, to find duplicates
  };
  bool key_expected() const {
    return !levels_.empty() && levels_.back().node.is_map() && !levels_.back().has_key;
  }
  void check_tag(const YAML::Mark& mark, const std::string& tag);
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            bool is_flow);
  void close();
  void take_key(const Location& where, const std::string& key);
  void drop_key() { levels_.back().has_key = levels_.back().drop = true; }
  void take(Node node, YAML::anchor_t anchor);

  const std::string& text_;
  const std::string& file_;
  Problems& problems_;
  bool started_ = false;
  std::optional<OpenQuote> open_quote_;
  Node root_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, Node> anchored_;
  struct Counted {
    int line = -1;
    std::size_t byte = 0;
    int column = 1;
  };
  mutable Counted counted_;
  std::size_t expanded_ = 0;  // bytes and nodes that aliases have added
};

}  // namespace trainx::yaml
