#include "facts/unread.hpp"
#include "core/files.hpp"
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trainx::facts {

std::optional<std::string> text_of(const std::string& path, const std::string& field,
                                   Unread& unread) {
  errno = 0;
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    unread[field] = path + " cannot be read: " + errno_words(errno);
    return std::nullopt;
  }
  text.resize(text.find_last_not_of(" \t\n") + 1);  // npos + 1 is 0
  return text;
}

std::optional<std::int64_t> number_of(const std::string& path, const std::string& field,
                                      Unread& unread) {
  const auto text = text_of(path, field, unread);
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  std::int64_t number = 0;
  if (in >> number) return number;
  unread[field] = path + " has no number: '" + text->substr(0, 40) + "'";
  return std::nullopt;
}

}  // namespace trainx::facts
