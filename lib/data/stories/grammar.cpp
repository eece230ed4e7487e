#include "data/stories/grammar.hpp"
#include "core/error.hpp"
#include "data/stories/english.hpp"
#include <algorithm>
#include <sstream>

namespace trainx::data::stories {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::int32_t variable_named(std::string_view name) {
  static constexpr std::string_view names[] = {
      "hero", "hero_name", "friend", "friend_name", "home", "prize", "look", "deed", "food"};
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw InternalError("stories: no variable " + std::string(name));
  return static_cast<std::int32_t>(found - names);
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr auto hero = static_cast<std::int32_t>(Variable::hero),
               hero_friend = static_cast<std::int32_t>(Variable::friend_),
               friend_name = static_cast<std::int32_t>(Variable::friend_name);

}  // namespace

const Grammar& Grammar::english() {
  static const Grammar grammar;
  return grammar;
}

Grammar::Grammar() {
  end_of_story_ = add_word(stories::end_of_story);
  for (const auto& [name, text] : word_classes()) {
    std::vector<std::int32_t> ids;
    for (const std::string& word : split(text)) ids.push_back(add_word(word));
    classes_.emplace_back(name, std::move(ids));
  }
  for (const Form& f : forms())
    forms_.push_back({add_word(f.he), add_word(f.she), add_word(f.they)});

  std::vector<std::int32_t> kinds =
      classes_[static_cast<std::size_t>(class_named("he_kind"))].second;
  const auto& she = classes_[static_cast<std::size_t>(class_named("she_kind"))].second;
  kinds.insert(kinds.end(), she.begin(), she.end());
  classes_.emplace_back("kind", std::move(kinds));

  const std::size_t count = acts().size();
  nodes_.push_back({});
  for (std::size_t act = 0; act < count; ++act) {
    roots_.push_back({0, 0});
    for (int plural = 0; plural < 2 && act > 0; ++plural) {
      roots_[act][static_cast<std::size_t>(plural)] = static_cast<std::int32_t>(nodes_.size());
      nodes_.push_back({});
    }
    for (const Sentence& s : acts()[act]) {
      for (int plural = 0; plural < (act > 0 ? 2 : 1); ++plural) {
        std::string text =
            replace_all(std::string(s.text), "{Hero}", plural ? "The (hero)" : "(hero_name)");
        text = replace_all(std::move(text), "{hero}", plural ? "the (hero)" : "(hero_name)");
        add_sentence(act, plural != 0, text, s.weight);
      }
    }
  }
  for (Node& parent : nodes_) {
    for (const std::int32_t child : parent.children) {
      Node& c = nodes_[static_cast<std::size_t>(child)];
      c.share = c.weight / parent.weight;
    }
  }
  gender_.assign(words_.size(), Gender::they);
  for (const std::int32_t id : classes_[static_cast<std::size_t>(class_named("he_kind"))].second)
    gender_[static_cast<std::size_t>(id)] = Gender::he;
  for (const std::int32_t id : she) gender_[static_cast<std::size_t>(id)] = Gender::she;
}

std::int32_t Grammar::add_word(std::string_view word) {
  const auto [at, fresh] =
      ids_.try_emplace(std::string(word), static_cast<std::int32_t>(words_.size()));
  if (fresh) words_.emplace_back(word);
  return at->second;
}

std::int32_t Grammar::find(std::string_view word) const {
  const auto at = ids_.find(word);
  return at == ids_.end() ? -1 : at->second;
}

std::int32_t Grammar::class_named(std::string_view name) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].first == name) return static_cast<std::int32_t>(i);
  }
  throw InternalError("stories: no word class " + std::string(name));
}

Grammar::Item Grammar::parse_item(std::string_view text) {
  const std::string_view inner = text.size() > 2 ? text.substr(1, text.size() - 2) : text;
  if (text.front() == '[') {
    const std::size_t arrow = inner.find('>');
    const std::int32_t variable = arrow == inner.npos ? -1
                                                      : variable_named(inner.substr(arrow + 1));
    const std::string_view name = inner.substr(0, arrow);
    if (name == "name")
      return {ItemType::name, variable == friend_name ? hero_friend : hero, variable};
    return {ItemType::draw, class_named(name), variable};
  }
  if (text.front() == '(') return {ItemType::repeat, variable_named(inner), -1};
  if (text.front() == '{') {
    const std::size_t colon = inner.find(':');
    const std::string_view name = colon == inner.npos ? inner : inner.substr(colon + 1);
    const auto form =
        std::find_if(forms().begin(), forms().end(), [&](const Form& f) { return f.name == name; });
    if (form == forms().end()) throw InternalError("stories: no form " + std::string(name));
    return {ItemType::form, static_cast<std::int32_t>(form - forms().begin()),
            colon == inner.npos ? hero : hero_friend};
  }
  return {ItemType::word, add_word(text), -1};
}

void Grammar::add_sentence(std::size_t act, bool plural, std::string_view text, double weight) {
  std::int32_t at = roots_[act][plural];
  nodes_[static_cast<std::size_t>(at)].weight += weight;
  for (const std::string& word : split(text)) {
    const Item item = parse_item(word);
    const auto& siblings = nodes_[static_cast<std::size_t>(at)].children;
    const auto same = std::find_if(siblings.begin(), siblings.end(), [&](std::int32_t c) {
      return nodes_[static_cast<std::size_t>(c)].item == item;
    });
    std::int32_t next = static_cast<std::int32_t>(nodes_.size());
    if (same != siblings.end()) {
      next = *same;
    } else {
      nodes_[static_cast<std::size_t>(at)].children.push_back(next);
      nodes_.push_back({item, 0, 1, {}, static_cast<std::int32_t>(act)});
    }
    nodes_[static_cast<std::size_t>(next)].weight += weight;
    at = next;
  }
}

Gender Grammar::gender_in(const Position& at, std::int32_t variable) const {
  return gender_of(at.kept[static_cast<std::size_t>(variable)]);
}

std::span<const std::int32_t> Grammar::words_of(const Item& item, const Position& at,
                                                std::int32_t& single) const {
  switch (item.type) {
    case ItemType::draw: return classes_[static_cast<std::size_t>(item.value)].second;
    case ItemType::name: {
      static const std::int32_t names[] = {class_named("he_name"), class_named("she_name")};
      return classes_[static_cast<std::size_t>(names[gender_in(at, item.value) == Gender::she])]
          .second;
    }
    case ItemType::word: single = item.value; break;
    case ItemType::repeat: single = at.kept[static_cast<std::size_t>(item.value)]; break;
    case ItemType::form:
      single = forms_[static_cast<std::size_t>(item.value)]
                     [static_cast<std::size_t>(gender_in(at, item.variable))];
      break;
    case ItemType::root: throw InternalError("stories: a root is not a word");
  }
  return {&single, 1};
}

bool Grammar::is_left_out(const Item& item, const Position& at, std::int32_t token) const {
  return (item.type == ItemType::draw || item.type == ItemType::name) && item.variable >= 0 &&
         std::find(at.kept.begin(), at.kept.end(), token) != at.kept.end();
}

void Grammar::choices(const Position& at, std::vector<Choice>& out) const {
  out.clear();
  for (const std::int32_t index : nodes_[static_cast<std::size_t>(at.node)].children) {
    const Node& child = nodes_[static_cast<std::size_t>(index)];
    std::int32_t single = -1;
    const std::size_t first = out.size();
    for (const std::int32_t token : words_of(child.item, at, single)) {
      if (!is_left_out(child.item, at, token)) out.push_back({token, child.share});
    }
    for (std::size_t i = first; i < out.size(); ++i)
      out[i].probability /= static_cast<double>(out.size() - first);
  }
}

bool Grammar::advance(Position& at, std::int32_t token) const {
  for (const std::int32_t index : nodes_[static_cast<std::size_t>(at.node)].children) {
    const Node& child = nodes_[static_cast<std::size_t>(index)];
    std::int32_t single = -1;
    const auto words = words_of(child.item, at, single);
    if (std::find(words.begin(), words.end(), token) == words.end() ||
        is_left_out(child.item, at, token))
      continue;
    if (token == end_of_story_) {
      at = start();
      return true;
    }
    if (child.item.variable >= 0 && child.item.type != ItemType::form)
      at.kept[static_cast<std::size_t>(child.item.variable)] = token;
    at.node = index;
    if (child.children.empty()) {
      at.node =
          roots_[static_cast<std::size_t>(child.act) + 1][gender_in(at, hero) == Gender::they];
    }
    return true;
  }
  return false;
}

}  // namespace trainx::data::stories
