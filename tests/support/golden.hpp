// Whole sentences that tests hold are kept in one file, tests/golden/sentences.json: one entry a
// key, sorted. TRAINX_GOLDEN=rewrite writes what is said there instead of comparing.
#pragma once
#include <source_location>
#include <string>
#include <vector>

#include "support/user_error.hpp"

enum class Numbers {
  exact,
  any
};  // any: sizes, times and numbers depend on the machine and become <size>, <time>, <n>

/// Fails the running test unless `text` is kept under `key` ("layer.topic", or "layer.topic/case"
/// in a table). Temporary folders, the source folder, process ids and the host's name are replaced
/// before.
void check_sentence(const std::string& key, const std::string& text,
                    Numbers numbers = Numbers::exact,
                    const std::source_location& where = std::source_location::current());

/// Each line begins with its place, "file:line:col: " or "file:line:col: key: ", and there are no
/// others; holds all lines under `key`.
void check_problems(const std::string& key, const std::vector<std::string>& lines,
                    const std::vector<std::string>& places,
                    const std::source_location& where = std::source_location::current());

/// The one line of `text` with `word` in it, without the blanks around it; fails the test if there
/// is none or another.
std::string line_with(const std::string& text, const std::string& word);

/// `told` is what user_error_of says ("66: sentence"): compares the exit code, and holds the
/// sentence under `key`.
void check_error(const std::string& key, int exit_code, const std::string& told,
                 Numbers numbers = Numbers::exact,
                 const std::source_location& where = std::source_location::current());
