// Chat templates: Jinja as Hugging Face's tokenizers set it up.
#pragma once
#include "jinja/renderer.hpp"
#include <ctime>
#include <string>

namespace trainx::jinja {

/// A template that was read. It renders what Python's jinja2 renders, byte for byte, or refuses.
/// Thread-safe.
class Template {
 public:
  /// Throws TemplateError.
  explicit Template(const std::string& source);
  /// `now`: what strftime_now sees. Throws TemplateError.
  std::string render(const Dict& variables, const Marks& marks, std::time_t now,
                     const Limits& limits = {}) const;
  /// Is there a {% generation %} block?
  bool has_generation() const { return has_generation_; }

 private:
  Tree tree_;
  bool has_generation_ = false;
};

}  // namespace trainx::jinja
