#include "imports/import.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "recipe/recipe.hpp"
#include "yaml/read.hpp"

namespace trainx::fuzz {

void fuzz_import(Bytes bytes, const Ways& ways) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  imports::Choices all;
  all.model_type = "gpt2";
  all.data_type = "stories";
  all.sequence_length = 64;
  ways.each(2, [&](std::size_t way) {
    const imports::Choices choices = way == 0 ? imports::Choices{} : all;
    std::optional<imports::Imported> imported;
    if (!accepted([&] { imported = imports::import_settings({{"settings", text}}, choices); }))
      return;
    // Not inside accepted(): what trainx writes is YAML, and a recipe or the refusal of a value.
    yaml::Problems problems;
    yaml::read_document(imported->recipe, "imported.yaml", problems);
    if (!problems.empty())
      throw Defect("a recipe that is no YAML: " + problems.lines().front() + "\n" +
                   imported->recipe);
    accepted([&] { recipe::parse_recipe(imported->recipe, "imported.yaml"); });
  });
}

}  // namespace trainx::fuzz
