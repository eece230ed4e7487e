#pragma once
#include <string>
#include <vector>

namespace trainx::data {

/// What a reader of one story, from "Once" or "Long ago" to its last full stop, would object to;
/// empty: nothing. Knows English words, not the grammar's sentences: who the hero, the friend and
/// the found thing are, and that pronouns, verbs, names and repeated nouns fit them.
std::string objection_to_story(const std::vector<std::string>& words);

}  // namespace trainx::data
