#pragma once
#include "metrics/metrics_file.hpp"
#include "text_codec.hpp"
#include "train/checkpoint_observer.hpp"
#include "generate/generate.hpp"
#include <cstdint>

namespace trainx::worker {

/// Texts that the model writes during training (generate.every), to the console and to
/// samples.jsonl. They are computed on the CPU from the exact weights, with random numbers keyed by
/// run.seed: the same ones each time, so that texts differ by the weights alone.
class SampleObserver : public train::Observer {
 public:
  /// `tokenizer`: that of the data or of the folder where the run began; empty: the data's own
  /// vocabulary, else ids. Throws UserError 65 if generate.prompt has no tokens, 78 if the row has
  /// no room for it.
  SampleObserver(train::TrainingParts& parts, const train::CheckpointObserver& checkpoints,
                 metrics::Console& console, const std::string& run_folder,
                 const std::string& tokenizer, const train::TrainState& state);
  bool needs_rest_after(std::int64_t step) const override { return every_.due_at(step); }
  void on_step_end(train::TrainState& state, const train::FinishedStep& step,
                   bool at_rest) override;
  void on_end(train::TrainState&, execute::Request) override {}

 private:
  void write_text(std::int64_t step);

  train::TrainingParts& parts_;
  const train::CheckpointObserver& checkpoints_;
  metrics::Console& console_;
  metrics::MetricsFile file_;
  std::unique_ptr<TextCodec> codec_;
  std::vector<std::int32_t> prompt_;
  train::Recurrence every_;
  std::optional<generate::Generator> generator_;  // from the first text on
};

}  // namespace trainx::worker
