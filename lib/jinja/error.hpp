#pragma once
#include <stdexcept>
#include <string>

namespace trainx::jinja {

/// Why a template cannot be read or does not render.
enum class Problem {
  syntax,       // no Jinja
  refused,      // the template's own raise_exception
  failed,       // what Jinja refuses too: an undefined value, types that do not fit
  unsupported,  // a part of Jinja or Python that this library does not have; the message names it
  python_text,  // a list, an object or null of a conversation would be written as Python writes it
  limit,        // too many steps, bytes or levels
};

class TemplateError : public std::runtime_error {
 public:
  TemplateError(Problem problem, const std::string& what)
      : std::runtime_error(what), problem_(problem) {}
  Problem problem() const { return problem_; }
  /// The same with a line in front, unless it has one: the innermost is the one that counts. What
  /// a template says itself stays as it is.
  TemplateError at_line(std::size_t line) const {
    const std::string what = this->what();
    if (problem_ == Problem::refused || what.starts_with("line ")) return *this;
    return {problem_, "line " + std::to_string(line) + ": " + what};
  }

 private:
  Problem problem_;
};

/// What Jinja refuses as well.
[[noreturn]] inline void fail(const std::string& what) {
  throw TemplateError(Problem::failed, what);
}
[[noreturn]] inline void unsupported(const std::string& part) {
  throw TemplateError(Problem::unsupported, part + " is not supported");
}

}  // namespace trainx::jinja
