#include "sample_observer.hpp"
#include "merge/merged_weights.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::worker {
namespace {

std::int64_t context_length(const plan::RunPlan& plan) {
  return std::min(architectures::text_positions(plan.dims), plan.recipe.data.sequence_length);
}

std::unique_ptr<TextCodec> codec_of(const plan::RunPlan& plan, const std::string& tokenizer) {
  auto vocabulary = data::make_vocabulary(plan.recipe.data.source);
  const bool has_vocabulary = vocabulary != nullptr;
  const std::int64_t tokens = architectures::vocab_size(plan.dims);
  return make_text_codec(has_vocabulary ? "" : tokenizer, std::move(vocabulary), "", tokens);
}

}  // namespace

SampleObserver::SampleObserver(train::TrainingParts& parts,
                               const train::CheckpointObserver& checkpoints,
                               metrics::Console& console, const std::string& run_folder,
                               const std::string& tokenizer, const train::TrainState& state)
    : parts_(parts),
      checkpoints_(checkpoints),
      console_(console),
      file_(run_folder + "/samples.jsonl", state.step),
      codec_(codec_of(parts.plan, tokenizer)),
      every_(parts.plan.generate_every, state) {
  const std::string& prompt = parts.plan.recipe.generate.prompt.value();
  try {
    prompt_ = codec_->encode(prompt);
  } catch (const UserError& e) {
    throw UserError(e.code(), std::string("generate.prompt: ") + e.what());
  }
  if (prompt_.empty())
    throw UserError(ExitCode::invalid_recipe,
                    "generate.prompt has no token; give the text to continue");
}

void SampleObserver::on_step_end(train::TrainState& state, const train::FinishedStep&,
                                 bool at_rest) {
  if (at_rest && every_.due_at(state.step)) {
    // A GPU's checkpoint is written from the host memory that weights are downloaded to.
    if (parts_.plan.on_gpu && checkpoints_.is_busy()) return every_.ask(state);
    write_text(state.step);
    every_.acted(state);
  }
  every_.watch(state);
}

void SampleObserver::write_text(std::int64_t step) {
  const plan::RunPlan& plan = parts_.plan;
  const execute::Ranks::Busy busy(parts_.ranks, "writing a text");
  if (!generator_) generator_.emplace(plan.dims, context_length(plan), plan.threads);
  // as checkpoints do; a plain download fails where the memory is pinned in part
  parts_.device->begin_download();
  parts_.device->end_download();
  const auto weights = parts_.resident.weights();
  generator_->load(
      plan.adapter ? merge::merged_weights(*plan.adapter, plan.role().train.front().graph, weights)
                   : weights);
  generate::GenerationOptions options{.max_tokens = plan.recipe.generate.tokens,
                                      .sampling = {},
                                      .seed = static_cast<std::uint64_t>(plan.recipe.run.seed),
                                      .end_of_text = {}};
  if (codec_->end_of_text() >= 0) options.end_of_text.push_back(codec_->end_of_text());
  try {
    const generate::Generation g = generator_->generate(prompt_, options);
    std::span<const std::int32_t> shown = g.ids;
    if (g.ended && codec_->is_text()) shown = shown.first(shown.size() - 1);
    const metrics::SampleReport report{step, *plan.recipe.generate.prompt, codec_->decode(shown),
                                       metrics::unix_time_s()};
    file_.append(metrics::to_json(report));
    console_.sample(report);
  } catch (const UserError& e) {  // a model that diverged writes nothing
    console_.warning("step " + std::to_string(step) + ": no text (generate.every): " + e.what());
  }
}

}  // namespace trainx::worker
