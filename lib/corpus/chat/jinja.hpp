#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::corpus {

/// A Jinja template, read by minja, with the settings of Hugging Face's chat templates (blocks
/// leave no blank lines). Thread-safe.
class Jinja {
 public:
  /// `place` begins the sentence of a refusal (UserError 65). Throws UserError 69 where trainx was
  /// built without minja.
  Jinja(const std::string& text, std::string place);
  ~Jinja();
  /// Throws UserError 65 with what the template says.
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct Parsed;
  std::string place_;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace trainx::corpus
