#pragma once
#include "checkpoint/checkpoint.hpp"
#include "launch/beam_options.hpp"
#include "launch/sampling_options.hpp"
#include "architectures/architecture.hpp"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trainx::generate {

struct GenerationOptions {
  std::int64_t max_tokens = 100;
  launch::SamplingOptions sampling;
  launch::BeamOptions beam;  // of several beams none is sampled
  // equal seeds give equal tokens: the random number of each is keyed by the seed and its position
  std::uint64_t seed = 0;
  std::vector<std::int32_t> end_of_text;  // tokens that nothing follows
  // tokens of which one is the first that is added, or the last of max_tokens; none: any is
  std::vector<std::int32_t> forced_first = {}, forced_last = {};
};

struct Generation {
  // prompt, then what was added, a token of end_of_text included; of a model that reads one text
  // and writes another: what begins that, then what was added
  std::vector<std::int32_t> ids;
  std::int64_t prompt_tokens = 0;
  std::int64_t read_tokens = 0;  // of the text that was read, where another is written
  bool ended = false;            // by a token of end_of_text
  // until the probabilities of the first added token are known
  double prompt_seconds = 0;
  double generation_seconds = 0;  // from there to the last added token
  std::int64_t added() const { return static_cast<std::int64_t>(ids.size()) - prompt_tokens; }
};

/// How a generator computes, and the most that it is asked for.
struct GeneratorOptions {
  std::int64_t context_length = 1;  // to dims.max_positions
  std::int64_t threads = 1;
  bool on_gpu = false;
  std::int64_t beams = 1;  // of a search; each has a cache
  DType compute = DType::f32;
};

/// Continues texts with the model of a Hugging Face folder, of a checkpoint or of a run.
/// Keys and values of the tokens so far are kept (model/decoder.hpp) until the text is as long
/// as the context. From there on the model sees a window of the last `context_length` tokens: all
/// of them get other positions with each token that is added, which then costs a whole forward.
class Generator {
 public:
  /// `dims`: of an architecture that generates.
  /// Throws UserError: 65 weights that do not fit their config.json, 69 no GPU that can be used, 71
  /// out of memory.
  Generator(const architectures::ModelDims& dims, const std::string& folder,
            const GeneratorOptions& options);
  /// On a CPU, without weights until `load`.
  Generator(const architectures::ModelDims& dims, std::int64_t context_length,
            std::int64_t threads);
  ~Generator();
  Generator(Generator&&) noexcept;

  /// Takes the weights of a model that is trained (ResidentState::weights).
  void load(const std::vector<checkpoint::TensorSource>& weights);

  /// `prompt`: at least one token; of more than context_length the last ones count. Of a model that
  /// reads one text and writes another it is what is read, as many tokens as the dims'
  /// longest_source, and context_length bounds what is written. Throws
  /// UserError 65 where the model's outputs are no numbers.
  Generation generate(std::vector<std::int32_t> prompt, const GenerationOptions& options);
  /// "2 CPU threads", "NVIDIA H200"
  std::string device() const;

 private:
  void draw(Generation& g, const GenerationOptions& options);
  void search(Generation& g, const GenerationOptions& options);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainx::generate
