#include "commands.hpp"
#include "core/error.hpp"
#include "inputs.hpp"
#include <cmath>

namespace trainx::app {
namespace {

struct Arguments {
  std::string folder;
  launch::GenerateOptions options;
  std::int64_t seed = 0;
};

void check(const Arguments& a) {
  const launch::GenerateOptions& o = a.options;
  auto require = [](bool holds, const char* sentence) {
    if (!holds) throw UserError(ExitCode::usage, std::string("generate: ") + sentence);
  };
  require(!o.prompt.empty(), "--prompt is empty; give the text to continue");
  require(o.max_tokens >= 1, "--max-tokens must be at least 1");
  require(std::isfinite(o.temperature) && o.temperature >= 0, "--temperature must be 0 (greedy) or more");
  require(o.top_k >= 0, "--top-k must be 0 (all tokens) or more");
  require(a.seed >= 0, "--seed must be 0 or more");
}

int run_generate(const Arguments& a, const Context& context) {
  check(a);
  const WeightsSource weights = find_weights(a.folder, context);
  launch::Job job = make_job("generate", context);
  if (weights.recipe) job.resolved_recipe = recipe::dump(weights.recipe->recipe);
  job.facts.hardware = facts::detect_hardware();
  job.run_folder = weights.run_folder;
  job.checkpoint = weights.checkpoint;
  job.generate = a.options;
  job.generate.seed = static_cast<std::uint64_t>(a.seed);
  return launch::run_worker(job);
}

}  // namespace

void add_generate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("generate", "text from a trained model");
  context.usage[command] = "RUN|FOLDER --prompt TEXT [options]";
  const auto a = std::make_shared<Arguments>();
  auto& o = a->options;
  command->add_option("RUN", a->folder, "a run's folder, one of its checkpoints, or a Hugging Face folder")->required();
  command->add_option("--prompt", o.prompt, "what to continue; token ids where the model has no vocabulary of its own")->required()->type_name("TEXT");
  command->add_option("--max-tokens", o.max_tokens, "tokens to add (100)")->type_name("N");
  command->add_option("--temperature", o.temperature, "0 is greedy (1)")->type_name("X");
  command->add_option("--top-k", o.top_k, "choose among the k likeliest; 0: all (0)")->type_name("K");
  command->add_option("--seed", a->seed, "equal seeds give equal text (0)")->type_name("N");
  command->callback([a, &context] { context.run = [a, &context] { return run_generate(*a, context); }; });
}

}  // namespace trainx::app
