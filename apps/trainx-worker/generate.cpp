#include "generate/generate.hpp"
#include "architectures/absent_tensor.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "end_of_text.hpp"
#include "text_codec.hpp"
#include "facts/facts.hpp"
#include "plan/adapted_dims.hpp"
#include "execute/threads.hpp"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

using launch::GenerateOn;

architectures::ModelDims dims_of(const std::string& folder) {
  architectures::ModelDims dims = plan::read_merged_config(folder);
  if (facts::lacks_own_head(folder, dims)) architectures::tie_head(dims);
  if (architectures::task(dims) != architectures::Task::causal_lm &&
      architectures::task(dims) != architectures::Task::seq2seq)
    throw UserError(ExitCode::usage,
                    folder + ": a model for " +
                        std::string(architectures::name_of(architectures::task(dims))) +
                        " does not generate; `trainx eval` measures it");
  if (!architectures::generates(dims))
    throw UserError(
        ExitCode::usage,
        folder + ": models of a worker of your own do not generate; `trainx eval` measures it");
  return dims;
}

/// With `any` a GPU that is there but not to be had gives way to the CPU, which is said.
generate::Generator make_generator(const launch::Job& job, const architectures::ModelDims& dims,
                                   const std::string& folder, std::int64_t length,
                                   [[maybe_unused]] metrics::Console& console) {
  const GenerateOn device = job.generate.device;
  const auto on = [&](bool gpu) {
    return generate::Generator(dims, folder,
                               {.context_length = length,
                                .threads = job.facts.hardware.cpu_cores,
                                .on_gpu = gpu,
                                .beams = job.generate.beam.beams,
                                .compute = job.generate.compute});
  };
  if (device == GenerateOn::gpu) return on(true);
#ifdef TRAINX_CUDA
  if (device == GenerateOn::any && !job.facts.hardware.gpus.empty() &&
      architectures::without_gpu_kernel(dims).empty()) {
    try {
      return on(true);
    } catch (const UserError& e) {
      if (e.code() != ExitCode::unavailable && e.code() != ExitCode::out_of_memory) throw;
      console.message(std::string("generating on the CPU: ") + e.what());
    }
  }
#endif
  return on(false);
}

std::vector<std::int32_t> encode_prompt(const TextCodec& codec, const std::string& prompt,
                                        bool whole) {
  try {
    return whole ? codec.encode_whole(prompt) : codec.encode(prompt);
  } catch (const UserError& e) {
    throw UserError(e.code(), std::string("--prompt: ") + e.what() +
                                  (codec.is_text() ? "" : ", or name the tokenizer (--tokenizer)"));
  }
}

/// Sets the dims' lengths to those of the prompt and of what is written; returns the latter's.
std::int64_t read_another_text(architectures::ModelDims& dims,
                               const std::vector<std::int32_t>& prompt,
                               const launch::GenerateOptions& o) {
  auto& d = std::get<architectures::Seq2SeqDims>(dims);
  const auto tokens = static_cast<std::int64_t>(prompt.size());
  if (d.shift.start < 0)
    throw UserError(ExitCode::usage,
                    "--prompt: " + d.family +
                        " begins a text with its language, which config.json names as "
                        "decoder_start_token_id and does not here; write it there");
  if (tokens > d.max_positions || o.max_tokens > d.max_positions)
    throw UserError(ExitCode::usage, (tokens > d.max_positions ? "--prompt: " : "--max-tokens: ") +
                                         std::to_string(std::max(tokens, o.max_tokens)) +
                                         " tokens are more than the model's " +
                                         std::to_string(d.max_positions) + " positions");
  d.longest_source = tokens;
  return d.longest_target = o.max_tokens;
}

nlohmann::ordered_json rate(std::int64_t tokens, double seconds) {
  return tokens > 0 && seconds > 0 ? nlohmann::ordered_json(static_cast<double>(tokens) / seconds)
                                   : nlohmann::ordered_json();
}

nlohmann::ordered_json to_json(const generate::Generation& g, const std::string& text,
                               std::int64_t length, const std::string& device) {
  return {{"event", "generated"},
          {"text", text},
          {"ids", g.ids},
          {"prompt_tokens", g.read_tokens > 0 ? g.read_tokens : g.prompt_tokens},
          {"generated_tokens", g.added()},
          {"ended_by", g.ended ? "end_of_text" : "max_tokens"},
          {"context_length", length},
          {"device", device},
          {"seconds", g.prompt_seconds + g.generation_seconds},
          {"prompt_tokens_per_second",
           rate(g.read_tokens > 0 ? g.read_tokens : std::min(g.prompt_tokens, length),
                g.prompt_seconds)},
          // the first comes of the prompt
          {"generated_tokens_per_second", rate(g.added() - 1, g.generation_seconds)}};
}

}  // namespace

int generate(const launch::Job& job, metrics::Console& console) {
  const launch::GenerateOptions& o = job.generate;
  const std::string folder = weights_folder(job);
  architectures::ModelDims dims = dims_of(folder);
  std::unique_ptr<data::Vocabulary> vocabulary;
  std::int64_t length = architectures::text_positions(dims);
  if (!job.resolved_recipe.empty()) {
    const auto recipe = recipe::parse_recipe(job.resolved_recipe, "resolved recipe").recipe;
    vocabulary = data::make_vocabulary(recipe.data.source);
    // positions beyond it were never trained
    length = std::min(length, recipe.data.sequence_length);
  }
  const std::int64_t vocab_size = architectures::vocab_size(dims);
  const auto codec = make_text_codec(o.tokenizer, std::move(vocabulary), folder, vocab_size);
  const bool two_texts = architectures::target_shift(dims).has_value();
  const std::vector<std::int32_t> prompt = encode_prompt(*codec, o.prompt, two_texts);
  if (prompt.empty())
    throw UserError(ExitCode::usage, "--prompt has no token; give the text to continue");

  generate::GenerationOptions options{.max_tokens = o.max_tokens,
                                      .sampling = o.sampling,
                                      .beam = o.beam,
                                      .seed = o.seed,
                                      .end_of_text = {}};
  if (!o.ignore_end_of_text) {
    options.end_of_text = end_of_text_of(folder, vocab_size);
    if (codec->end_of_text() >= 0) options.end_of_text.push_back(codec->end_of_text());
  }
  if (two_texts) {
    length = read_another_text(dims, prompt, o);
    ForcedTokens forced = forced_tokens_of(folder, vocab_size);
    options.forced_first = std::move(forced.first);
    if (!o.ignore_end_of_text) options.forced_last = std::move(forced.last);
  } else if (o.max_tokens > length + 1 - static_cast<std::int64_t>(prompt.size())) {
    console.message("beyond " + std::to_string(length) + " tokens the model sees the last " +
                    std::to_string(length) + " alone, and each further token takes longer");
  }
  execute::set_compute_threads(job.facts.hardware.cpu_cores);
  generate::Generator generator = make_generator(job, dims, folder, length, console);
  const generate::Generation g = generator.generate(prompt, options);
  std::span<const std::int32_t> shown = g.ids;
  if (two_texts) shown = shown.subspan(1);
  if (g.ended && codec->is_text()) shown = shown.first(shown.size() - 1);
  std::string text = codec->decode(shown);
  if (job.output.json)
    text = to_json(g, text, length, generator.device())
               .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace trainx::worker
