#include "recipe/resolved.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "yaml/read.hpp"
#include <string_view>

namespace trainx::recipe {
namespace {

constexpr std::string_view hash_line = "# xxh3_128 of the lines above: ";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(ExitCode::bad_data,
                  path + " is damaged: " + why +
                      "; trainx wrote it from the run's recipe: remove it, and the command that "
                      "trained the run goes on and writes it again");
}

}  // namespace

std::string resolved_text(const Recipe& recipe) {
  const std::string text = dump(recipe);
  return text + std::string(hash_line) + hash_hex(text) + "\n";
}

LoadedRecipe read_resolved(const std::string& path) {
  const std::string text = read_file(path, yaml::largest_document);
  bool as_written = false;
  if (const std::size_t at = text.rfind(hash_line); at != std::string::npos) {
    const std::string hash = hash_hex(std::string_view(text).substr(0, at));
    if (text.substr(at + hash_line.size()) != hash + "\n")
      refuse(path, "its hash is " + hash + ", not the one in its last line");
    as_written = true;
  }
  try {
    return parse_recipe(text, path);
  } catch (const RecipeError& e) {
    if (as_written) throw;  // by a worker with other models, or by another trainx
    refuse(path, e.problems().front().text());
  }
}

}  // namespace trainx::recipe
