#include "story_agreement.hpp"
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace trainx::data {
namespace {

using Words = std::vector<std::string>;

std::set<std::string> set_of(const char* text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

const std::set<std::string> male_kinds =
    set_of("boy king prince miller giant knight fox bear wolf frog rabbit goat");
const std::set<std::string> female_kinds =
    set_of("girl queen princess witch maid fairy hen cat duck mouse cow swan");
const std::set<std::string> plural_kinds =
    set_of("boys girls kings princesses knights fairies foxes bears wolves cats ducks goats");
const std::set<std::string> male_names =
    set_of("Tom Jack Ben Max Sam Leo Tim Finn Hugo Otto Felix Oscar");
const std::set<std::string> female_names =
    set_of("Anna Lily Mia Rose Emma Clara Lucy Nora Ella Ruby Ida Alice");
const std::set<std::string> things = set_of(
    "key ring ball drum book lamp hat coin bell kite boat box flute mirror crown sword shoe basket "
    "map rope stone feather shell blanket cup doll candle spoon "
    "wheel ladder bottle letter");
const std::map<std::string, char> pronouns{
    {"he", 'm'},   {"He", 'm'},   {"him", 'm'},   {"his", 'm'},       {"himself", 'm'},
    {"she", 'f'},  {"She", 'f'},  {"her", 'f'},   {"herself", 'f'},   {"they", 'p'},
    {"They", 'p'}, {"them", 'p'}, {"their", 'p'}, {"themselves", 'p'}};

/// m, f, p for the words of a character; 0 otherwise.
char gender_of(const std::string& w) {
  if (male_kinds.contains(w) || male_names.contains(w)) return 'm';
  if (female_kinds.contains(w) || female_names.contains(w)) return 'f';
  return plural_kinds.contains(w) ? 'p' : '\0';
}

bool is_name(const std::string& w) { return male_names.contains(w) || female_names.contains(w); }

std::vector<Words> sentences_of(const Words& words) {
  std::vector<Words> sentences(1);
  for (const std::string& w : words) {
    sentences.back().push_back(w);
    if (w == ".") sentences.emplace_back();
  }
  sentences.pop_back();
  return sentences;
}

/// Kind and name as introduced: "a shy fox named Sam", "two shy foxes".
struct Character {
  std::string kind, name;
  char gender = 0;
};

}  // namespace

std::string objection_to_story(const Words& words) {
  Character hero, other;
  std::string thing;
  for (const Words& sentence : sentences_of(words)) {
    char subject = 0;  // of the clause: whose verb comes
    // "because his", "that he": of the friend, who is the subject
    bool about_other = false;
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      const std::string& w = sentence[i];
      const std::string before = i > 0 ? sentence[i - 1] : "";
      if (const char g = gender_of(w)) {
        const bool introduced = before == "named";
        Character& newest = other.kind.empty() ? hero : other;
        if (introduced) {
          if (newest.kind.empty() || !newest.name.empty())
            return "nobody is there to be named " + w;
          if (g != newest.gender) return "a " + newest.kind + " is named " + w;
          if (w == hero.name) return "two are named " + w;
          newest.name = w;
        } else if (!is_name(w) && newest.kind.empty()) {
          newest = {w, "", g};
        } else if (!is_name(w) && w != hero.kind && other.kind.empty()) {
          other = {w, "", g};
        }
        if (w != hero.kind && w != hero.name && w != other.kind && w != other.name)
          return w + " is nobody of this story";
        const Character& known = w == hero.kind || w == hero.name ? hero : other;
        const auto here = sentence.begin() + static_cast<std::ptrdiff_t>(i);
        // an object or a clause's own subject
        const bool inside = std::any_of(sentence.begin(), here, [](const std::string& v) {
          return v == "knew" || v == "told";
        });
        if (!inside) {
          subject = known.gender;
          about_other = &known == &other;
        }
      }
      if (w == "was" && subject == 'p') return "several was";
      if (w == "were" && subject != 'p' && before != "there") return "one were";
      const auto pronoun = pronouns.find(w);
      if (pronoun != pronouns.end()) {
        const bool of_other = about_other && i >= 1 &&
                              (before == "because" || before == "that" || before == "so");
        const char expected = of_other ? other.gender : hero.gender;
        if (pronoun->second != expected) return w + " for a " + (of_other ? other.kind : hero.kind);
        if (i <= 1 || w == "he" || w == "she" || w == "they") subject = expected;
      }
      if (things.contains(w)) {
        if (thing.empty()) thing = w;
        if (w != thing) return "a " + w + " where the " + thing + " was meant";
      }
    }
  }
  return "";
}

}  // namespace trainx::data
