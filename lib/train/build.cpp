#include "train/build.hpp"
#include "model/custom/buffers.hpp"
#include "model/model.hpp"
#include "plan/source_options.hpp"
#include "train/learning_rates.hpp"
#include "architectures/own_parts.hpp"

namespace trainx::train {

std::shared_ptr<const data::Source> open_split(const plan::RunPlan& plan, data::Split split) {
  return data::open_source(plan.recipe.data.source, split, plan::source_options(plan));
}

std::vector<model::Blocks> build_blocks(const architectures::ModelDims& dims,
                                        const std::vector<plan::PlacedProgram>& programs) {
  model::forget_buffers();  // of a model that this process had before
  std::vector<model::Blocks> blocks;
  for (const plan::PlacedProgram& p : programs)
    blocks.push_back(model::build_blocks(dims, p.graph));
  return blocks;
}

namespace {

/// Of another type, or whose experts drop nothing.
bool evaluates_another_graph(const plan::RankRole& role) {
  if (role.evaluate.empty()) return false;
  const program::ModelGraph& graph = role.evaluate.front().graph;
  return graph.stored || graph.composition != role.train.front().graph.composition;
}

}  // namespace

TrainingParts::TrainingParts(const plan::RunPlan& p, std::shared_ptr<const data::Source> train,
                             std::shared_ptr<const data::Source> eval, execute::Ranks among)
    : plan(p),
      ranks(among),
      role(p.role(among.rank())),
      train_source(std::move(train)),
      eval_source(std::move(eval)),
      device(execute::open_device(p, among)),
      resident(role.train.front(), state::ResidentMemory(*device), p.update.states, among),
      blocks(build_blocks(p.dims, role.train)),
      evaluation_blocks(evaluates_another_graph(role) ? build_blocks(p.dims, role.evaluate)
                                                      : std::vector<model::Blocks>{}),
      optimizer(optim::make_optimizer(p.recipe.optimizer.options, role.train.front().graph.groups,
                                      p.recipe.optimizer.ema_decay)) {}

TrainingParts::~TrainingParts() {
  evaluator.reset();
  executor.reset();
  model::forget_buffers();
}

void TrainingParts::start(const TrainState& saved, execute::OnReport on_report) {
  const auto& r = plan.recipe;
  TrainState state = saved;
  if (plan.compute == DType::f16 && (state.loss_scale == 0 || plan.loss_scale.window == 0))
    state.loss_scale = plan.loss_scale.initial, state.finite_steps = 0;
  // of a run with other products
  if (state.fp8_ranges.size() != resident.fp8_ranges()) state.fp8_ranges.clear();
  const auto seed = static_cast<std::uint64_t>(r.run.seed);
  if (role.keeps_weights) {
    resident.set_counters(state.step, state.applied_steps);
    plan.compute == DType::f16 ? resident.set_loss_scale(state.loss_scale, state.finite_steps)
                               : resident.set_loss_scale(plan.loss_scale.initial, 0);
    resident.set_fp8_ranges(state.fp8_ranges);
    resident.set_learning_rates(learning_rates(plan, state));
  }
  data::LoaderOptions options;
  options.global_batch_size = plan.batch.global_batch_size;
  options.micro_batch_size = plan.batch.micro_batch_size;
  options.row_lengths = plan.row_lengths;
  options.masking = architectures::masking(plan.dims);
  options.label_values = architectures::label_values(plan.dims);
  options.fields = architectures::own_fields(plan.dims);
  options.shift = architectures::target_shift(plan.dims);
  options.target_lengths = plan.target_lengths();
  options.seed = seed;
  options.workers = r.data.workers;
  options.prefetch = r.data.prefetch;
  options.first_step = state.step;
  options.last_step = role.reads_batches ? plan.total_steps : state.step;
  if (plan.shares_batches())
    options.first_share = plan.mesh.batch_of(ranks.rank()), options.shares = plan.mesh.batches();
  data::OrderOptions order;
  order.seed = seed;
  order.shuffle = r.data.shuffle;
  order.group_by_length = r.data.group_by_length;
  order.global_batch_size = plan.batch.global_batch_size;
  loader =
      std::make_unique<data::Loader>(train_source, data::make_order(train_source, order), options);
  execute::ExecutorParts parts;
  parts.blocks = &blocks;
  parts.optimizer = optimizer.get();
  parts.fetch = [this](std::int64_t step, int micro_step, int rank, data::BatchView out) {
    loader->fetch(step, std::int64_t{micro_step} * plan.mesh.batches() + plan.mesh.batch_of(rank),
                  out);
  };
  parts.report =
      on_report ? std::move(on_report)
                : [this](const execute::StepScalarsReport& report) { trainer->on_report(report); };
  parts.seed = seed;
  parts.nominal_targets = plan.nominal_targets;
  parts.max_grad_norm = r.optimizer.max_grad_norm;
  parts.loss_scale = plan.loss_scale;
  parts.shape_of = [this](std::int64_t step) { return loader->shape_of(step); };
  parts.first_step = state.step;
  ranks.connect(parts);
  if (r.precision.rounding == recipe::Rounding::stochastic) parts.rounding_seed = seed;
  resident.upload_to(*device);
  executor = device->make_executor(role.train, std::move(parts));
  executor->prepare_weights();
  trainer = std::make_unique<Trainer>(plan, *executor, *loader, state, ranks);
  if (eval_source && role.evaluates)
    evaluator = std::make_unique<Evaluator>(
        plan, *device, evaluation_blocks.empty() ? blocks : evaluation_blocks, *eval_source, ranks);
}

}  // namespace trainx::train
