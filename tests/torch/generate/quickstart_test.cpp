// What a newcomer sees first: the quickstart learns the grammar, and what it writes is of the
// grammar.
#include "checkpoint/checkpoint.hpp"
#include "support/source_dir.hpp"
#include "train/build.hpp"
#include "generate/generate.hpp"
#include "execute/threads.hpp"
#include "data/stories/check.hpp"
#include "support/temporary_folder.hpp"
#include "support/catch.hpp"

namespace trainx::train::quickstart_test {

TEST_CASE(
    "the quickstart comes within 10 % of the entropy floor on held-out stories and writes "
    "sentences of the grammar",
    "[slow]") {
  const auto loaded = recipe::load_recipe(source_dir() + "/configs/quickstart.yaml");
  const auto facts = facts::gather_facts(loaded.recipe);
  const auto plan = plan::make_run_plan(loaded.recipe, facts);
  execute::set_compute_threads(plan.threads);
  TrainingParts parts(plan, open_split(plan, data::Split::train),
                      open_split(plan, data::Split::eval));
  parts.resident.initialize(static_cast<std::uint64_t>(plan.recipe.run.seed));
  parts.start({});
  parts.trainer->run();
  const double loss = parts.evaluator->run().loss, floor = facts.data.entropy_floor_nats.value();
  CAPTURE(loss, floor);
  REQUIRE(loss < 1.10 * floor);
  CHECK(loss > 0.97 * floor);  // lower than the entropy would mean that the floor is wrong

  const TemporaryFolder folder;
  checkpoint::write_safetensors(folder.path() + "/model.safetensors", parts.resident.weights());
  const auto words = data::make_vocabulary(plan.recipe.data.source);
  generate::Generator generator(
      plan.dims, folder.path(),
      {.context_length = plan.recipe.data.sequence_length, .threads = plan.threads});
  int accepted = 0, tokens = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    generate::GenerationOptions options;
    options.max_tokens = 100;
    options.sampling.temperature = 0.5;
    options.seed = seed;
    const auto ids = generator.generate(words->encode("Once"), options).ids;
    const auto report = data::stories::check_story(ids);
    accepted += static_cast<int>(report.accepted);
    tokens += static_cast<int>(ids.size());
  }
  CAPTURE(accepted, tokens);
  // up to the first slip; a text of random words is accepted for two tokens
  CHECK(accepted > tokens / 2);
}

}  // namespace trainx::train::quickstart_test
