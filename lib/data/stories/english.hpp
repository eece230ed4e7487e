// The grammar of the stories: its words and its sentences, as data.
#pragma once
#include <string_view>
#include <vector>

namespace trainx::data::stories {

/// Words that may stand in the same place, separated by spaces.
struct WordClass {
  std::string_view name, words;
};

/// A sentence with its weight among those of its act.
///   word              itself
///   [class]           any word of the class
///   [class>variable]  the same, kept under the variable; differs from every word that is kept
///   already (variable)        the kept word again {form}            a form that agrees with the
///   hero; {friend:form}, with the friend {Hero} {hero}     the hero's name; of several heroes `The
///   (hero)`, `the (hero)`
struct Sentence {
  double weight;
  std::string_view text;
};

/// Sentences of which a story has exactly one.
using Act = std::vector<Sentence>;

/// How a form reads for a male, a female, several.
struct Form {
  std::string_view name, he, she, they;
};

const std::vector<WordClass>& word_classes();
const std::vector<Form>& forms();
const std::vector<Act>& acts();

/// The token that ends a story; written as a blank line.
inline constexpr std::string_view end_of_story = "<end>";

}  // namespace trainx::data::stories
