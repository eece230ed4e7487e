#include "generate/generate.hpp"
#include "core/error.hpp"
#include "model/decoder.hpp"
#include "program/plain.hpp"
#include "tensor/tensor.hpp"
#include "execute/device.hpp"
#include "state/resident_state.hpp"
#include "generate/beam_search.hpp"
#include "generate/forced_logits.hpp"
#include "generate/sampling.hpp"
#include <algorithm>
#include <chrono>

namespace trainx::generate {

/// The weights' arena, and behind them the decoders' memory.
struct GeneratorLayout {
  std::int64_t weights_bytes = 0, decoder_bytes = 0;
  // As far as a device looks at it: its one program is there for the parameters' places.
  plan::RunPlan plan;
};

namespace {

using program::Role;

model::Decoder::GraphOf graphs(const architectures::ModelDims& dims,
                               const GeneratorOptions& options) {
  if (!architectures::generates(dims))
    throw InternalError("generate: " + std::string(architectures::architecture_name(dims)) +
                        " does not continue texts");
  const architectures::GraphOptions graph_options =
      options.on_gpu ? architectures::GraphOptions::on_gpu(true)
                     : architectures::GraphOptions::on_cpu(options.threads);
  return [evaluated = architectures::for_evaluation(dims), graph_options,
          compute = options.compute](std::int64_t length) {
    if (const auto* two_texts = std::get_if<architectures::Seq2SeqDims>(&evaluated)) {
      architectures::Seq2SeqDims d = *two_texts;
      d.longest_target = length;
      return architectures::model_graph(d, 1, d.longest_source, compute, graph_options);
    }
    return architectures::model_graph(evaluated, 1, length, compute, graph_options);
  };
}

GeneratorLayout layout_of(const architectures::ModelDims& dims, const GeneratorOptions& options) {
  const std::string operation =
      options.on_gpu ? architectures::without_gpu_kernel(architectures::for_evaluation(dims)) : "";
  if (!operation.empty())
    throw UserError(ExitCode::unavailable,
                    std::string(architectures::architecture_name(dims)) +
                        " generates on CPUs so far: GPUs have no kernel for its " + operation +
                        "; write --device cpu");
  GeneratorLayout layout;
  plan::RunPlan& p = layout.plan;
  p.dims = dims;
  p.threads = options.threads;
  p.on_gpu = options.on_gpu;
  p.compute = options.compute;
  // text does not depend on what was measured of matrix products
  p.recipe.run.deterministic = true;
  const model::Decoder::GraphOf graph_of = graphs(dims, options);
  plan::RankRole& role = p.program_set.roles.emplace_back();
  plan::PlacedProgram& placed = role.train.emplace_back();
  placed.graph = graph_of(1);
  placed.program = program::forward_program(program::plain_program(placed.graph, {}), placed.graph,
                                            program::Op::predict);
  placed.placement = program::plan_memory(placed.program);
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (placed.program.buffers[b].resident)
      layout.weights_bytes = std::max(layout.weights_bytes,
                                      placed.placement.base[b] + placed.program.buffers[b].bytes());
  layout.weights_bytes = (layout.weights_bytes + 255) / 256 * 256;
  layout.decoder_bytes = (model::Decoder::memory_bytes(graph_of, options.context_length) + 255) /
                         256 * 256;
  role.memory.arena_bytes = layout.weights_bytes + options.beams * layout.decoder_bytes;
  role.memory.library_bytes = graph_of(options.context_length).library_bytes;
  return layout;
}

std::vector<Tensor> groups_at(std::byte* memory, Place place, const plan::PlacedProgram& placed) {
  std::vector<Tensor> groups(placed.graph.groups.size());
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (const auto& buffer = placed.program.buffers[b]; buffer.role == Role::parameter) {
      const auto owner = static_cast<std::size_t>(buffer.index);
      groups[owner] =
          make_tensor(memory + placed.placement.base[b], buffer.dtype, {buffer.elements}, place);
    }
  return groups;
}

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now(), since = std::exchange(since_, now);
    return std::chrono::duration<double>(now - since).count();
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace

struct Generator::State {
  State(const architectures::ModelDims& dims, const GeneratorOptions& options)
      : layout(layout_of(dims, options)),
        shift(architectures::target_shift(dims)),
        device(execute::open_device(layout.plan)) {}

  /// `load` fills the weights.
  void take_weights(const std::function<void(state::ResidentState&)>& load) {
    state::ResidentState resident(layout.plan.role().train.front(), device->residents());
    load(resident);
    device->upload();
  }
  void make_decoders(const architectures::ModelDims& dims, const GeneratorOptions& options) {
    for (std::int64_t i = 0; i < options.beams; ++i)
      decoders.push_back(std::make_unique<model::Decoder>(
          graphs(dims, options), architectures::vocab_size(dims), options.context_length,
          groups_at(device->memory(), layout.plan.on_gpu ? Place::gpu : Place::host,
                    layout.plan.role().train.front()),
          device->memory() + layout.weights_bytes + i * layout.decoder_bytes));
  }

  /// The decoder of each text that goes on: the first that continues a text takes its decoder,
  /// others take those of texts that nothing continues, with a copy. `before`: of the texts before.
  std::vector<std::size_t> pass_on(const std::vector<BeamSearch::Beam>& beams,
                                   const std::vector<std::size_t>& before) {
    std::vector<bool> used(decoders.size());
    std::vector<std::size_t> of(beams.size(), decoders.size());
    for (std::size_t i = 0; i < beams.size(); ++i)
      if (const std::size_t own = before[beams[i].parent]; !used[own]) {
        of[i] = own;
        used[own] = true;
      }
    for (std::size_t i = 0; i < beams.size(); ++i) {
      if (of[i] < decoders.size()) continue;
      of[i] = static_cast<std::size_t>(std::ranges::find(used, false) - used.begin());
      used[of[i]] = true;
      decoders[of[i]]->copy_text(*decoders[before[beams[i].parent]]);
    }
    return of;
  }

  GeneratorLayout layout;
  std::optional<architectures::TargetShift> shift;  // where another text is written
  std::unique_ptr<execute::Device> device;
  std::vector<std::unique_ptr<model::Decoder>> decoders;  // one for each beam
};

Generator::Generator(const architectures::ModelDims& dims, const std::string& folder,
                     const GeneratorOptions& options)
    : state_(std::make_unique<State>(dims, options)) {
  state_->take_weights(
      [&](state::ResidentState& resident) { resident.load_weights(folder, dims); });
  state_->make_decoders(dims, options);
}

Generator::Generator(const architectures::ModelDims& dims, std::int64_t context_length,
                     std::int64_t threads)
    : state_(std::make_unique<State>(
          dims, GeneratorOptions{.context_length = context_length, .threads = threads})) {
  state_->make_decoders(dims, {.context_length = context_length, .threads = threads});
}

void Generator::load(const std::vector<checkpoint::TensorSource>& weights) {
  state_->take_weights([&](state::ResidentState& resident) { resident.copy_weights(weights); });
}

Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;

std::string Generator::device() const { return state_->device->name(); }

namespace {

/// What follows a text, of which the decoder has all but the last token or as much as it can hold.
std::span<const float> follow(model::Decoder& decoder, std::span<const std::int32_t> ids) {
  if (decoder.size() > 0 && decoder.size() < decoder.capacity()) return decoder.append(ids.last(1));
  decoder.clear();
  return decoder.append(
      ids.last(std::min(ids.size(), static_cast<std::size_t>(decoder.capacity()))));
}

}  // namespace

Generation Generator::generate(std::vector<std::int32_t> prompt, const GenerationOptions& options) {
  if (prompt.empty()) throw InternalError("generate: the prompt has no token");
  Generation g;
  if (state_->shift) {
    g.read_tokens = static_cast<std::int64_t>(prompt.size());
    g.ids = {static_cast<std::int32_t>(state_->shift->start)};
    state_->device->compute([&] {
      state_->decoders.front()->read(prompt);
      for (std::size_t i = 1; i < state_->decoders.size(); ++i)
        state_->decoders[i]->read_with(*state_->decoders.front());
    });
  } else {
    g.ids = std::move(prompt);
  }
  g.prompt_tokens = static_cast<std::int64_t>(g.ids.size());
  state_->device->compute([&] { options.beam.beams > 1 ? search(g, options) : draw(g, options); });
  return g;
}

void Generator::draw(Generation& g, const GenerationOptions& options) {
  model::Decoder& decoder = *state_->decoders.front();
  ForcedLogits forced(options);
  Stopwatch watch;
  decoder.clear();
  std::span<const float> logits = follow(decoder, g.ids);
  g.prompt_seconds = watch.lap();
  for (;;) {
    const std::int32_t token =
        draw_token(forced.instead_of(logits, g.added()), options.sampling,
                   uniform_at(options.seed, static_cast<std::int64_t>(g.ids.size())));
    g.ids.push_back(token);
    g.ended = std::ranges::find(options.end_of_text, token) != options.end_of_text.end();
    if (g.ended || g.added() >= options.max_tokens) break;
    logits = follow(decoder, g.ids);
  }
  g.generation_seconds = watch.lap();
}

void Generator::search(Generation& g, const GenerationOptions& options) {
  if (options.beam.beams > std::ssize(state_->decoders))
    throw InternalError("generate: not a decoder for each beam");
  BeamSearch search(options.beam, options.max_tokens, options.end_of_text);
  ForcedLogits forced(options);
  std::vector<std::size_t> decoders{0};  // of each text
  Stopwatch watch;
  state_->decoders.front()->clear();
  std::vector<std::span<const float>> logits{follow(*state_->decoders.front(), g.ids)};
  g.prompt_seconds = watch.lap();
  const auto advance = [&] {
    const auto added = static_cast<std::int64_t>(search.running().front().added.size());
    for (std::span<const float>& x : logits) x = forced.instead_of(x, added);
    return search.advance(logits);
  };
  while (advance()) {
    const std::vector<BeamSearch::Beam>& beams = search.running();
    decoders = state_->pass_on(beams, decoders);
    logits.clear();
    for (std::size_t i = 0; i < beams.size(); ++i) {
      std::vector<std::int32_t> ids = g.ids;
      ids.insert(ids.end(), beams[i].added.begin(), beams[i].added.end());
      logits.push_back(follow(*state_->decoders[decoders[i]], ids));
    }
  }
  const BeamSearch::Found& best = search.best();
  g.ids.insert(g.ids.end(), best.added.begin(), best.added.end());
  g.ended = best.ended;
  g.generation_seconds = watch.lap();
}

}  // namespace trainx::generate
