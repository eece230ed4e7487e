// What the sentences of lib/imports say of trainx is true: the keys, values, flags and commands
// that they name exist.
#include "recipe/schema.hpp"
#include "support/catch.hpp"
#include "support/source_dir.hpp"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace trainx::imports::sentences_test {
namespace {

namespace fs = std::filesystem;

/// String literals of C++ sources in a folder, neighbours joined, without comments.
std::vector<std::string> literals_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/" + folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string code = text.str();
    bool is_joined = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code.compare(i, 2, "//") == 0) {
        i = std::min(code.find('\n', i), code.size());
      } else if (code[i] == '\'') {
        for (++i; i < code.size() && code[i] != '\''; ++i) i += code[i] == '\\';
        is_joined = false;
      } else if (code[i] == '"') {
        std::string literal;
        for (++i; i < code.size() && code[i] != '"'; ++i) {
          if (code[i] == '\\') ++i;
          literal += code[i];
        }
        if (is_joined)
          out.back() += literal;
        else
          out.push_back(literal);
        is_joined = true;
      } else if (!std::isspace(static_cast<unsigned char>(code[i]))) {
        is_joined = false;
      }
    }
  }
  return out;
}

std::vector<std::string> sentences() {
  std::vector<std::string> out;
  for (const std::string& literal : literals_in("lib/imports"))
    if (literal.find(' ') != std::string::npos) out.push_back(literal);
  return out;
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

bool is_key(const std::string& key) {
  return std::ranges::any_of(recipe::schema_keys(), [&](const recipe::FieldHelp& f) {
    return f.key == key || f.key.starts_with(key + ".");
  });
}

bool takes(const std::string& key, const std::string& word) {
  return std::ranges::any_of(recipe::schema_keys(), [&](const recipe::FieldHelp& f) {
    return f.key == key && std::ranges::count(f.words, word) > 0;
  });
}

const std::string key_pattern =
    "\\b((?:run|model|data|batch|precision|optimizer|schedule|memory|parallel|checkpoint|eval|"
    "metrics)"
    "\\.[a-z_0-9]+(?:\\.[a-z_0-9]+)*)";

}  // namespace

TEST_CASE("keys and values that sentences of import name are in the schema") {
  const std::regex named(key_pattern), valued(key_pattern + ": ([a-z0-9_+]+)");
  const std::regex listed(key_pattern + " is ((?:[a-z0-9-]+, )*[a-z0-9-]+ or [a-z0-9-]+)");
  const std::regex word("[a-z0-9-]+");
  std::size_t keys = 0, values = 0;
  for (const std::string& sentence : sentences()) {
    INFO(sentence);
    for (const auto& m : matches(sentence, named)) {
      if (m[1] == "metrics.jsonl") continue;  // a file
      INFO(m[1].str());
      CHECK(is_key(m[1]));
      ++keys;
    }
    for (const auto& m : matches(sentence, valued)) {
      INFO(m[1].str() + ": " + m[2].str());
      CHECK(takes(m[1], m[2]));
      ++values;
    }
    for (const auto& m : matches(sentence, listed)) {
      const std::string list = m[2];
      for (const auto& one : matches(list, word)) {
        if (one.str() == "or") continue;
        INFO(m[1].str() + ": " + one.str());
        CHECK(takes(m[1], one.str()));
        ++values;
      }
    }
  }
  CHECK(keys > 40);  // the sentences were found
  CHECK(values > 20);
}

TEST_CASE("flags and commands that sentences of import name are those of the command line") {
  std::set<std::string> flags, commands;
  std::ostringstream app;
  for (const auto& entry : fs::directory_iterator(source_dir() + "/apps/trainx"))
    app << std::ifstream(entry.path()).rdbuf();
  const std::string code = app.str();
  for (const auto& m : matches(code, std::regex("\"(--[a-z,-]+)\"")))
    for (const std::string flag = m[1]; const auto& one : matches(flag, std::regex("--[a-z-]+")))
      flags.insert(one.str());
  for (const auto& m : matches(code, std::regex("add_subcommand\\(\\s*\"([a-z]+)\"")))
    commands.insert(m[1]);
  REQUIRE(flags.contains("--model"));
  REQUIRE(commands.contains("train"));

  std::size_t named = 0;
  for (const std::string& sentence : sentences()) {
    INFO(sentence);
    for (const auto& m : matches(sentence, std::regex("(?:^|[ `(])(--[a-z][a-z-]*)"))) {
      if (m[1] == "--local-dir") continue;  // of `hf download`
      INFO(m[1].str());
      CHECK(flags.contains(m[1]));
      ++named;
    }
    for (const auto& m : matches(sentence, std::regex("`trainx ([a-z]+)(?: ([a-z]+))?"))) {
      INFO(m[0].str());
      CHECK(commands.contains(m[1]));
      if (m[1] == "data") CHECK(commands.contains(m[2]));
      ++named;
    }
  }
  CHECK(named > 20);
}

}  // namespace trainx::imports::sentences_test
