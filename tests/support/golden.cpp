#include "support/golden.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/catch.hpp"
#include "support/source_dir.hpp"

namespace {

using Sentences = nlohmann::json;  // an object: its keys are sorted

const std::string path = source_dir() + "/tests/golden/sentences.json";

bool rewrites() {
  const char* asked = std::getenv("TRAINX_GOLDEN");
  return asked && std::string(asked) == "rewrite";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// The same rules as tests/e2e/golden.py.
std::string normalised(std::string text, Numbers numbers) {
  std::string temporary = std::filesystem::temp_directory_path().string();
  while (temporary.size() > 1 && temporary.back() == '/') temporary.pop_back();
  std::string escaped;
  for (const char c : temporary) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '_';
    escaped += is_plain ? std::string(1, c) : std::string("\\") + c;
  }
  text = std::regex_replace(text, std::regex(escaped + "/trainx[-_][A-Za-z0-9_.-]+"), "<folder>");
  replace_all(text, source_dir(), "<source>");
  text = std::regex_replace(text, std::regex("\\b(process|pid) [0-9]+"), "$1 <pid>");
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0 && host[0] != 0)
    replace_all(text, std::string(" on ") + host, " on <host>");
  if (numbers == Numbers::exact) return text;
  const std::string number = "\\b[0-9]+(\\.[0-9]+)?";
  text = std::regex_replace(text, std::regex(number + " ([KMGT]i?B|kB|B)\\b"), "<size>");
  text = std::regex_replace(text, std::regex(number + " (s|ms|us|min|h)\\b"), "<time>");
  return std::regex_replace(text, std::regex(number + "(e[+-]?[0-9]+)?\\b"), "<n>");
}

Sentences kept_sentences() {
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  return text.empty() ? Sentences::object() : Sentences::parse(text);
}

/// Locks the folder of the file while it lives.
class Lock {
 public:
  Lock()
      : file_(::open(std::filesystem::path(path).parent_path().c_str(),
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    REQUIRE(file_ >= 0);
    REQUIRE(::flock(file_, LOCK_EX) == 0);
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

/// Tests that limit the size of files may hold sentences too.
class NoFileSizeLimit {
 public:
  NoFileSizeLimit() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit most{before_.rlim_max, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &most);
  }
  ~NoFileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  NoFileSizeLimit(const NoFileSizeLimit&) = delete;
  NoFileSizeLimit& operator=(const NoFileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

/// Tests that run side by side write one after the other.
void write(const std::string& key, const std::string& text) {
  const Lock lock;
  Sentences sentences = kept_sentences();
  if (sentences.value(key, "") == text && sentences.contains(key)) return;
  sentences[key] = text;
  const NoFileSizeLimit unlimited;
  const std::string written = path + ".new";
  {
    std::ofstream out(written, std::ios::trunc);
    out << sentences.dump(1) << "\n" << std::flush;
    REQUIRE(out.good());
  }
  std::filesystem::rename(written, path);
}

}  // namespace

void check_sentence(const std::string& key, const std::string& text, Numbers numbers,
                    const std::source_location& where) {
  const auto replace = Sentences::error_handler_t::replace;  // what is not UTF-8
  const std::string said =
      Sentences::parse(Sentences(normalised(text, numbers)).dump(-1, ' ', false, replace));
  const std::string place = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                            ": ";
  static std::map<std::string, std::string> told;
  const auto [first, is_new] = told.emplace(key, said);
  if (!is_new && first->second != said) {
    FAIL_CHECK(place << "one key, two sentences: " << key << "\n  " << first->second << "\n  "
                     << said);
  }
  if (rewrites()) return write(key, said);
  static const Sentences kept = kept_sentences();
  const std::string remedy =
      "\nif it is meant to be so: TRAINX_GOLDEN=rewrite, and read the change of "
      "tests/golden/sentences.json";
  if (!kept.contains(key)) {
    FAIL_CHECK(place << "tests/golden/sentences.json has no " << key << ": " << said << remedy);
  } else if (kept.at(key) != said) {
    FAIL_CHECK(place << key << "\n  was  " << kept.at(key).get<std::string>() << "\n  is   " << said
                     << remedy);
  } else {
    SUCCEED(key);
  }
}

void check_error(const std::string& key, int exit_code, const std::string& told, Numbers numbers,
                 const std::source_location& where) {
  const std::string code = std::to_string(exit_code) + ": ";
  if (!told.starts_with(code)) {
    FAIL_CHECK(where.file_name() << ":" << where.line() << ": exit code " << exit_code
                                 << " is not that of: " << told);
  } else {
    check_sentence(key, told.substr(code.size()), numbers, where);
  }
}

void check_problems(const std::string& key, const std::vector<std::string>& lines,
                    const std::vector<std::string>& places, const std::source_location& where) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "\n") + line;
  bool fits = lines.size() == places.size();
  for (std::size_t i = 0; fits && i < lines.size(); ++i) fits = lines[i].starts_with(places[i]);
  if (!fits) {
    std::string expected;
    for (const std::string& place : places) expected += "\n  " + place;
    FAIL_CHECK(where.file_name() << ":" << where.line() << ": other problems than at" << expected
                                 << "\n"
                                 << all);
  } else {
    check_sentence(key, all, Numbers::exact, where);
  }
}

std::string line_with(const std::string& text, const std::string& word) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find(word) != std::string::npos) found.push_back(line);
  if (found.size() != 1) FAIL_CHECK(found.size() << " lines have '" << word << "':\n" << text);
  if (found.empty()) return "";
  const std::size_t begin = found[0].find_first_not_of(' ');
  return found[0].substr(begin, found[0].find_last_not_of(' ') + 1 - begin);
}
