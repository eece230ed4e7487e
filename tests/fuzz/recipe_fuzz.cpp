#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include "recipe/recipe.hpp"

namespace trainx::fuzz {

void fuzz_recipe(Bytes bytes, const Ways& ways) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  recipe::LoadOptions options;
  options.environment = [](const std::string& name) {
    return name == "HOME" ? std::optional<std::string>("/home/user") : std::nullopt;
  };
  const std::string name = "/nowhere/fuzz.yaml";  // no recipes to extend there
  std::optional<recipe::LoadedRecipe> loaded;
  if (!accepted([&] { loaded = recipe::parse_recipe(text, name, options); })) return;
  const std::string dumped = recipe::dump(loaded->recipe);
  // Not inside accepted(): what trainx writes it must read.
  ways.each(2, [&](std::size_t way) {
    const bool commented = way == 1;
    const std::string written = commented ? recipe::dump(loaded->recipe, &loaded->origins) : dumped;
    const recipe::LoadedRecipe again = recipe::parse_recipe(written, name, options);
    if (recipe::dump(again.recipe) != dumped)
      throw Defect("a dump reads back as another recipe:\n" + written + "\n--- and again:\n" +
                   recipe::dump(again.recipe));
  });
}

}  // namespace trainx::fuzz
