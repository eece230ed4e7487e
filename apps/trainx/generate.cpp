#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "inputs.hpp"
#include <filesystem>
#include <iostream>
#include <iterator>

namespace trainx::app {
namespace {

struct GenerateArguments {
  std::string folder, device = "auto", precision = "fp32";
  std::string sampled;  // an option that only drawing takes
  launch::GenerateOptions options;
  std::int64_t seed = 0;
};

void require(bool holds, const std::string& sentence) {
  if (!holds) throw UserError(ExitCode::usage, "generate: " + sentence);
}

launch::GenerateOn device_of(const GenerateArguments& a) {
  if (a.device == "auto") return launch::GenerateOn::any;
  require(a.device == "cpu" || a.device == "gpu",
          "--device is auto, cpu or gpu, not '" + a.device + "'");
  return a.device == "cpu" ? launch::GenerateOn::cpu : launch::GenerateOn::gpu;
}

DType compute_of(const GenerateArguments& a) {
  for (const auto& [name, type] :
       {std::pair{"fp32", DType::f32}, {"bf16", DType::bf16}, {"fp16", DType::f16}})
    if (a.precision == name) return type;
  require(false, "--precision is fp32, bf16 or fp16, not '" + a.precision + "'");
  return DType::f32;
}

void check(const GenerateArguments& a) {
  const launch::GenerateOptions& o = a.options;
  require(!o.prompt.empty(), "--prompt is empty; give the text to continue");
  require(o.max_tokens >= 1, "--max-tokens must be at least 1");
  require(a.seed >= 0, "--seed must be 0 or more");
  launch::check_sampling(o.sampling);
  launch::check_beams(o.beam);
  require(o.beam.beams == 1 || a.sampled.empty(),
          "--beams takes the likeliest text and draws none; leave out " + a.sampled);
  require(o.beam.beams > 1 || o.beam.length_penalty == 1,
          "--length-penalty is of a search; write --beams too");
}

// Of what stands on stdin the line break at its end belongs to the shell, not to the text.
std::string prompt_of(const GenerateArguments& a) {
  std::string prompt = a.options.prompt;
  const bool from_stdin = prompt == "-";
  if (from_stdin) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (prompt.ends_with('\n')) prompt.pop_back();
    if (prompt.ends_with('\r')) prompt.pop_back();
    require(!prompt.empty(), "the prompt on stdin is empty; give the text to continue");
  }
  if (!is_utf8(prompt))
    throw UserError(ExitCode::bad_data, std::string("generate: the prompt") +
                                            (from_stdin ? " on stdin" : "") +
                                            " is not UTF-8; convert it");
  return prompt;
}

int run_generate(const GenerateArguments& a, const Context& context) {
  check(a);
  const launch::GenerateOn device = device_of(a);
  const DType compute = compute_of(a);
  if (const std::string& path = a.options.tokenizer;
      !path.empty() && path != "none" && !std::filesystem::exists(path))
    throw UserError(ExitCode::input_missing,
                    "generate: there is no tokenizer " + a.options.tokenizer +
                        ": name a folder with one, or its file, or none for ids");
  const WeightsSource weights = find_weights(a.folder, context);
  launch::Job job = make_job("generate", context);
  if (weights.recipe) job.resolved_recipe = recipe::dump(weights.recipe->recipe);
  job.facts.hardware = facts::detect_hardware();
  job.run_folder = weights.run_folder;
  job.checkpoint = weights.checkpoint;
  job.generate = a.options;
  job.generate.prompt = prompt_of(a);
  job.generate.seed = static_cast<std::uint64_t>(a.seed);
  job.generate.device = device;
  job.generate.compute = compute;
  return launch::run_worker(job);
}

}  // namespace

void add_generate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("generate", "Generate text from a trained model.");
  context.usage[command] = "RUN|FOLDER --prompt TEXT [options]";
  const auto a = std::make_shared<GenerateArguments>();
  auto& o = a->options;
  command
      ->add_option("RUN", a->folder,
                   "Folder of a run, one of its checkpoints, or a Hugging Face folder.")
      ->required();
  command
      ->add_option("--prompt", o.prompt,
                   "Text to continue; - reads stdin. Token ids if there is neither a tokenizer nor "
                   "a vocabulary of the data.")
      ->required()
      ->type_name("TEXT");
  command
      ->add_option("--tokenizer", o.tokenizer,
                   "Folder with a tokenizer, or its file. none: the prompt is token ids. Default: "
                   "that of the run's data, else the one in the model's folder.")
      ->type_name("FOLDER|FILE");
  command->add_option("--max-tokens", o.max_tokens, "Tokens to add (100).")->type_name("N");
  command
      ->add_option("--temperature", o.sampling.temperature,
                   "Sampling temperature; 0 is greedy (1).")
      ->type_name("X");
  command
      ->add_option("--top-k", o.sampling.top_k, "Sample from the K most likely tokens; 0: all (0).")
      ->type_name("K");
  command
      ->add_option(
          "--top-p", o.sampling.top_p,
          "Sample from the fewest most likely tokens whose probabilities sum to P; 1: all (1).")
      ->type_name("P");
  command
      ->add_option("--beams", o.beam.beams,
                   "Follow the N likeliest texts side by side and take the best (1).")
      ->type_name("N");
  command
      ->add_option("--length-penalty", o.beam.length_penalty,
                   "Of beams: scores are divided by length to this power; above 1 favours long "
                   "texts (1).")
      ->type_name("X");
  command->add_option("--seed", a->seed, "Sampling seed; equal seeds give equal text (0).")
      ->type_name("N");
  command->add_flag("--ignore-eos", o.ignore_end_of_text,
                    "Continue after a token that ends the text.");
  command->add_option("--device", a->device, "cpu, gpu, or auto: a GPU if one is usable (auto).")
      ->type_name("NAME");
  command
      ->add_option("--precision", a->precision,
                   "fp32, bf16 or fp16: what weights are kept and products computed in (fp32).")
      ->type_name("NAME");
  command->footer(
      "A text longer than the model's positions (for a run: data.sequence_length) is seen through "
      "a window of its last tokens. Each further token then costs a whole forward.");
  command->callback([a, &context, command] {
    for (const char* option : {"--temperature", "--top-k", "--top-p", "--seed"})
      if (command->count(option) > 0) a->sampled = option;
    context.run = [a, &context] { return run_generate(*a, context); };
  });
}

}  // namespace trainx::app
