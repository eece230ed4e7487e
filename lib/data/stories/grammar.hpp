#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::data::stories {

struct Choice {
  std::int32_t token;
  double probability;
};

enum class Variable : std::uint8_t {
  hero,
  hero_name,
  friend_,
  friend_name,
  home,
  prize,
  look,
  deed,
  food
};
enum class Gender : std::uint8_t { he, she, they };

/// Where a story stands: a node of the grammar and the words kept so far (-1: none). A function of
/// the tokens before.
struct Position {
  std::int32_t node = 0;
  std::array<std::int32_t, 9> kept{-1, -1, -1, -1, -1, -1, -1, -1, -1};
};

/// The grammar as one tree of items an act and number, sentences with a common beginning merged.
/// The children of a node never share a token, so that the tokens before determine the position:
/// the product of the probabilities drawn is the probability of the text, and -ln p is known
/// exactly.
class Grammar {
 public:
  static const Grammar& english();

  const std::vector<std::string>& words() const { return words_; }  // by token id
  std::int32_t find(std::string_view word) const;                   // -1: not a word of it
  std::int32_t end_of_story() const { return end_of_story_; }

  Position start() const { return {}; }
  /// What may come next, with its probability; these sum to 1.
  void choices(const Position& at, std::vector<Choice>& out) const;
  /// Moves on by a token; false, and no move, where it may not come next.
  bool advance(Position& at, std::int32_t token) const;

 private:
  enum class ItemType : std::uint8_t { root, word, draw, name, repeat, form };
  struct Item {
    ItemType type = ItemType::root;
    std::int32_t value = 0;  // token, class, variable or form
    // draw, name: where the word is kept; form: with whom it agrees
    std::int32_t variable = -1;
    bool operator==(const Item&) const = default;
  };
  struct Node {
    Item item;
    double weight = 0;  // of the sentences through here
    double share = 1;   // weight over the parent's
    std::vector<std::int32_t> children;
    std::int32_t act = 0;  // a leaf is followed by the act after this
  };

  Grammar();
  std::int32_t add_word(std::string_view word);
  std::int32_t class_named(std::string_view name) const;
  Item parse_item(std::string_view text);
  void add_sentence(std::size_t act, bool plural, std::string_view text, double weight);
  Gender gender_of(std::int32_t kind) const { return gender_[static_cast<std::size_t>(kind)]; }
  Gender gender_in(const Position& at, std::int32_t variable) const;
  /// The words an item may be: `left_out` says which of them are not drawn, because they are kept
  /// already.
  std::span<const std::int32_t> words_of(const Item& item, const Position& at,
                                         std::int32_t& single) const;
  bool is_left_out(const Item& item, const Position& at, std::int32_t token) const;

  std::vector<std::string> words_;
  std::map<std::string, std::int32_t, std::less<>> ids_;
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> classes_;
  std::vector<Gender> gender_;  // by token id; meaningful for kinds
  std::vector<std::array<std::int32_t, 3>> forms_;
  std::vector<Node> nodes_;  // node 0: root of the first act
  // by act: singular, plural
  std::vector<std::array<std::int32_t, 2>> roots_;
  std::int32_t end_of_story_ = -1;
};

}  // namespace trainx::data::stories
