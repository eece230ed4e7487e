#include "execute/cuda/optimizer_launches.hpp"
#include "core/error.hpp"
#include "kernels/optimizer/average.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "optim/adafactor.hpp"
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/adamw_8bit.hpp"
#include "optim/adamw_anyprecision.hpp"
#include "optim/group_table.hpp"
#include "optim/lamb.hpp"
#include "optim/lion.hpp"
#include "program/operations.hpp"
#include "execute/update_memory.hpp"

namespace trainx::execute {

using namespace program;
using gpu::require;

namespace {

/// What every optimizer's launch works on.
struct Update {
  kernels::UpdateTable table;
  kernels::WeightKind kind{};
  kernels::UpdateScalars scalars;
  kernels::ScaleSettings scale;
  optim::TensorRanges tensors;  // of optimizers that update whole ones
  bool only_measures = false;   // sums over parts of tensors
  int round = 0;                // ... and which
};
using Start = std::function<cudaError_t(cudaStream_t)>;

template <class Settings>
Start start_of(cudaError_t (*kernel)(const kernels::UpdateTable&, kernels::WeightKind,
                                     const kernels::UpdateScalars&, const Settings&, cudaStream_t),
               const Update& u, Settings settings) {
  settings.scale = u.scale;
  return [=](cudaStream_t stream) { return kernel(u.table, u.kind, u.scalars, settings, stream); };
}

/// Makes the launch of each optimizer; what it works through is taken from the tables.
class StartOf {
 public:
  StartOf(const Update& update, const std::vector<kernels::Chunk>& chunks, DeviceTables& tables)
      : u_(update), chunks_(chunks), tables_(tables) {}

  Start operator()(const options::AdamWOptions& o) const {
    return start_of(kernels::adamw, u_,
                    kernels::AdamWSettings{o.beta1, o.beta2, o.eps, o.weight_decay, {}});
  }
  Start operator()(const options::SgdOptions& o) const {
    return start_of(kernels::sgd, u_,
                    kernels::SgdSettings{o.momentum, o.nesterov, o.weight_decay, {}});
  }
  Start operator()(const options::AdamOptions& o) const {
    return start_of(kernels::adam, u_, optim::settings_of(o));
  }
  Start operator()(const options::AdagradOptions& o) const {
    return start_of(kernels::adagrad, u_, optim::settings_of(o));
  }
  Start operator()(const options::LionOptions& o) const {
    return start_of(kernels::lion, u_, optim::settings_of(o));
  }
  Start operator()(const options::AdamWAnyPrecisionOptions& o) const {
    return start_of(kernels::adamw_anyprecision, u_, optim::settings_of(o));
  }
  Start operator()(const options::AdamW8bitOptions& o) const {
    const kernels::DynamicCodes* codes = tables_.copy(std::vector{kernels::dynamic_codes()});
    auto settings = optim::settings_of(o);
    settings.scale = u_.scale;
    return [=, u = u_](cudaStream_t stream) {
      return kernels::adamw_8bit(u.table, u.kind, u.scalars, settings, codes, stream);
    };
  }
  Start operator()(const options::OwnOptimizerOptions& o) const {
    throw InternalError("optimizer " + o.name + " has no kernel: its rule is called");
  }
  Start operator()(const options::LambOptions& o) const {
    const std::size_t tensors = u_.tensors.ranges.size();
    const kernels::LambMemory memory{take<double>(2 * chunks_.size()), take<float>(tensors),
                                     tables_.copy(kernels::first_chunks(chunks_, tensors)),
                                     static_cast<std::int64_t>(tensors), sums(0)};
    auto settings = optim::settings_of(o);
    settings.scale = u_.scale;
    if (u_.only_measures)
      return [=, u = u_](cudaStream_t stream) {
        return kernels::lamb_measure(u.table, u.kind, u.scalars, settings, memory, stream);
      };
    return [=, u = u_](cudaStream_t stream) {
      return kernels::lamb(u.table, u.kind, u.scalars, settings, memory, stream);
    };
  }
  Start operator()(const options::AdafactorOptions& o) const {
    const std::size_t tensors = u_.tensors.ranges.size();
    const kernels::AdafactorLayout cut(optim::adafactor_shapes(u_.tensors));
    kernels::AdafactorMemory memory;
    memory.parts = tables_.copy(cut.parts);
    memory.tiles = tables_.copy(cut.tiles);
    memory.lines = tables_.copy(cut.lines);
    memory.first_tiles = tables_.copy(cut.first_tiles);
    memory.elements = tables_.copy(cut.elements);
    memory.part_count = static_cast<std::int64_t>(cut.parts.size());
    memory.tile_count = static_cast<std::int64_t>(cut.tiles.size());
    memory.line_count = static_cast<std::int64_t>(cut.lines.size());
    memory.ranges = static_cast<std::int64_t>(tensors);
    memory.row_sums = take<float>(static_cast<std::size_t>(cut.row_sums));
    memory.column_sums = take<float>(static_cast<std::size_t>(cut.column_sums));
    memory.weights2 = take<double>(cut.tiles.size());
    memory.directions2 = take<double>(cut.tiles.size());
    memory.row_means = take<float>(cut.parts.size());
    memory.steps = take<float>(tensors);
    memory.clips = take<float>(tensors);
    memory.moments = sums(0);
    memory.lengths = sums(1);
    auto settings = optim::settings_of(o);
    settings.scale = u_.scale;
    if (u_.only_measures)
      return [=, u = u_](cudaStream_t stream) {
        return kernels::adafactor_measure(u.round, u.table, u.kind, u.scalars, settings, memory,
                                          stream);
      };
    return [=, u = u_](cudaStream_t stream) {
      return kernels::adafactor(u.table, u.kind, u.scalars, settings, memory, stream);
    };
  }

 private:
  template <class T>
  T* take(std::size_t count) const {
    return reinterpret_cast<T*>(tables_.take(static_cast<std::int64_t>(count * sizeof(T))));
  }

  /// Of that round, by range; null where tensors are whole.
  double* const* sums(std::size_t round) const {
    return u_.tensors.sums.empty() ? nullptr : tables_.copy(u_.tensors.sums[round]);
  }

  const Update& u_;
  const std::vector<kernels::Chunk>& chunks_;
  DeviceTables& tables_;
};

std::vector<kernels::Chunk> chunks_of(const std::vector<kernels::UpdateRange>& ranges) {
  std::vector<std::int64_t> sizes;
  for (const auto& r : ranges) sizes.push_back(r.elements);
  return kernels::chunks_of(sizes);
}
kernels::UpdateTable table_of(const std::vector<kernels::UpdateRange>& ranges,
                              const std::vector<kernels::Chunk>& chunks, DeviceTables& tables) {
  return {tables.copy(ranges), tables.copy(chunks), static_cast<std::int64_t>(chunks.size())};
}

}  // namespace

UpdateLaunch update_launch(const PlacedMemory& memory, DeviceTables& tables,
                           const std::vector<program::LocalGroup>& groups,
                           const std::vector<const Instruction*>& run,
                           const options::OptimizerOptions& options,
                           const kernels::ScaleSettings& scale,
                           std::optional<std::uint64_t> rounding_seed,
                           std::optional<double> ema_decay, const OwnRules* rules,
                           const OnHost& on_host) {
  const auto states = std::visit([](const auto& o) { return options::states(o); }, options);
  const Instruction& first = *run.front();
  const GroupTraining& training = groups[static_cast<std::size_t>(first.group)].spec.training;
  const Use& table = use_of(first, UpdateSlot::lr_table);
  Update update;
  update.scale = scale;
  update.scale.lr_scale = training.lr_scale;
  update.scalars = {memory.find<double>(first, UpdateSlot::norm2),
                    memory.find<double>(first, UpdateSlot::target_count),
                    memory.find<std::int64_t>(first, UpdateSlot::applied),
                    memory.find<double>(first, UpdateSlot::lr_table),
                    memory.buffer(table).elements,
                    memory.find<double>(first, UpdateSlot::loss_scale)};
  update.only_measures = first.op == Op::measure;
  const auto sums_of_tensors =
      std::visit([](const auto& o) { return options::tensor_sums_of(o); }, options);
  std::vector<kernels::UpdateRange> averages;
  OwnUpdate own;
  for (const Instruction* i : run) {
    UpdateMemory operands = update_memory(
        memory.placed(), *i, groups[static_cast<std::size_t>(i->group)],
        [&](const Use& u) { return memory.address(u); }, rounding_seed);
    optim::GroupMemory& group = operands.group;
    if (ema_decay && !update.only_measures) {
      optim::GroupMemory averaged = group;
      averaged.states = {group.states.at(states.size())};
      const auto of_group = optim::update_ranges(averaged, {{.name = "ema"}});
      averages.insert(averages.end(), of_group.begin(), of_group.end());
    }
    group.states.resize(states.size());
    update.kind = optim::weight_kind(group);
    if (rules) {
      own.groups.push_back(std::move(group));
      continue;
    }
    if (!group.sums.empty()) group.sums.resize(sums_of_tensors.size());
    update.round = operands.round;
    update.tensors.append(optim::tensor_ranges(group, states, sums_of_tensors));
  }
  const options::OptimizerOptions of_groups =
      training.weight_decay ? options::with_weight_decay(options, *training.weight_decay) : options;
  const auto start_of_kernels = [&] {
    const auto chunks = chunks_of(update.tensors.ranges);
    update.table = table_of(update.tensors.ranges, chunks, tables);
    return std::visit(StartOf{update, chunks, tables}, of_groups);
  };
  const auto start_of_rule = [&] {
    own.kind = update.kind;
    own.scalars = update.scalars;
    own.scale = update.scale;
    return own_update_start(own, std::get<options::OwnOptimizerOptions>(of_groups), tables, *rules,
                            on_host);
  };
  const Start start = rules ? start_of_rule() : start_of_kernels();
  if (averages.empty()) return {start};
  const auto average =
      [table = table_of(averages, chunks_of(averages), tables), kind = update.kind,
       scalars = update.scalars, settings = kernels::AverageSettings{*ema_decay, update.scale}](
          cudaStream_t stream) { return kernels::average(table, kind, scalars, settings, stream); };
  return {[=](cudaStream_t stream) {
    const cudaError_t error = start(stream);
    return error == cudaSuccess ? average(stream) : error;
  }};
}

void UpdateLaunch::launch(cudaStream_t stream) const {
  require(start(stream), "the optimizer's update");
}

// The tensors of the groups alone: what lies between them is nobody's.
NormLaunch norm_launch(const PlacedMemory& memory, DeviceTables& tables,
                       const std::vector<program::LocalGroup>& groups, const Instruction& i) {
  std::vector<kernels::NormRange> ranges;
  std::vector<std::int64_t> sizes;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (const float* gradient =
            memory.find<float>(i, NormSlot::first_gradient + static_cast<Slot>(g)))
      for (const ParameterSpec& p : groups[g].spec.parameters) {
        ranges.push_back({gradient + p.offset, p.elements()});
        sizes.push_back(p.elements());
      }
  const auto chunks = kernels::chunks_of(sizes);
  NormLaunch norm;
  norm.table = {tables.copy(ranges), tables.copy(chunks), static_cast<std::int64_t>(chunks.size())};
  norm.partial = reinterpret_cast<double*>(
      tables.take(static_cast<std::int64_t>(chunks.size() * sizeof(double))));
  norm.norm2 = memory.find<double>(i, NormSlot::norm2);
  norm.add = use_of(i, NormSlot::norm2).how == How::accumulate;
  return norm;
}

void NormLaunch::launch(cudaStream_t stream) const {
  require(kernels::squared_norm(table, partial, norm2, add, stream), "norm of the gradients");
}

}  // namespace trainx::execute
