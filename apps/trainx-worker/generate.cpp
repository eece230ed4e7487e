#include "train/generate.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "data/source.hpp"
#include "train/threads.hpp"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainx::worker {
namespace {

// Without a vocabulary (token files, a bare model folder) text is ids: "464 2068 7586".
std::vector<std::int32_t> parse_ids(const std::string& text, std::int64_t vocab_size) {
  std::vector<std::int32_t> ids;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::size_t used = 0;
    const bool digits = word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
    const long id = digits ? std::stol(word, &used) : -1;
    if (id < 0 || id >= vocab_size) throw UserError(ExitCode::bad_data, "--prompt: '" + word + "' is no token id below " + std::to_string(vocab_size) + "; this model has no vocabulary of words, give ids separated by spaces");
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

}  // namespace

int generate(const launch::Job& job, metrics::Console&) {
  const std::string folder = weights_folder(job);
  const spec::ModelDims dims = spec::read_config(folder);
  if (spec::task(dims) != spec::Task::causal_lm) throw UserError(ExitCode::usage, folder + ": a model for " + std::string(spec::name_of(spec::task(dims))) + " does not generate; `trainx eval` measures it");
  if (std::holds_alternative<spec::CustomDims>(dims)) throw UserError(ExitCode::usage, folder + ": models of a worker of your own do not generate; `trainx eval` measures it");
  std::unique_ptr<data::Vocabulary> vocabulary;
  std::int64_t length = spec::max_positions(dims);
  if (!job.resolved_recipe.empty()) {
    const auto recipe = recipe::parse_recipe(job.resolved_recipe, "resolved recipe").recipe;
    vocabulary = data::make_vocabulary(recipe.data.source);
    length = std::min(length, recipe.data.sequence_length);     // positions beyond it were never trained
  }
  const std::vector<std::int32_t> prompt = vocabulary ? vocabulary->encode(job.generate.prompt) : parse_ids(job.generate.prompt, spec::vocab_size(dims));
  if (prompt.empty()) throw UserError(ExitCode::usage, "--prompt is empty; give the text to continue");
  train::set_compute_threads(job.facts.hardware.cpu_cores);
  const auto ids = train::generate(dims, folder, prompt, length, job.generate);
  std::string text;
  if (vocabulary) text = vocabulary->decode(ids);
  else for (const std::int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  if (job.output.json) text = nlohmann::json{{"event", "generated"}, {"text", text}, {"ids", ids}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace trainx::worker
