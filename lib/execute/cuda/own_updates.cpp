#include "execute/cuda/own_updates.hpp"
#include "core/error.hpp"
#include "gpu/gpu_error.hpp"
#include "optim/group_table.hpp"
#include "tensor/torch_view.hpp"
#include "tensor/parallel.hpp"
#include "trainx/update_range.hpp"
#include "trainx/update_tensors.hpp"
#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace trainx::execute {

using gpu::require;

namespace {

/// Elements that the rule is given at once: parts of parameters that decay alike.
struct FlatRange {
  std::vector<kernels::StagedRange> parts;
  std::vector<std::vector<float*>> states;  // of each part
  std::int64_t elements = 0;
  bool decays = false;
};

/// A part of a range: elements [begin, begin + elements).
kernels::UpdateRange part_of(kernels::UpdateRange r, std::int64_t begin, std::int64_t elements,
                             const optim::GroupMemory& group) {
  const std::int64_t width = group.parameter_dtype == DType::f32 ? 4 : 2,
                     master_width = group.master_kind == program::Master::fp32 ? 4 : 2;
  r.gradient += begin;
  r.parameter = static_cast<std::byte*>(r.parameter) + begin * width;
  if (r.master) r.master = static_cast<std::byte*>(r.master) + begin * master_width;
  r.rounding.first += begin;
  r.elements = elements;
  return r;
}

/// All elements of the groups, `most` at once.
std::vector<FlatRange> flat_ranges(const std::vector<optim::GroupMemory>& groups,
                                   std::int64_t most) {
  std::vector<FlatRange> all;
  for (const optim::GroupMemory& group : groups) {
    optim::GroupMemory without_states = group;
    without_states.states.clear();
    const auto ranges = optim::update_ranges(without_states, {});
    for (std::size_t k = 0; k < ranges.size(); ++k)
      for (std::int64_t begin = 0; begin < ranges[k].elements;) {
        const auto open = std::ranges::find_if(all, [&](const FlatRange& f) {
          return f.decays == ranges[k].decays && f.elements < most;
        });
        FlatRange& flat = open != all.end() ? *open : all.emplace_back();
        flat.decays = ranges[k].decays;
        const std::int64_t elements = std::min(ranges[k].elements - begin, most - flat.elements);
        kernels::StagedRange& part = flat.parts.emplace_back();
        part.range = part_of(ranges[k], begin, elements, group);
        part.at = flat.elements;
        auto& states = flat.states.emplace_back();
        for (void* state : group.states)
          states.push_back(static_cast<float*>(state) + group.group->parameters[k].offset + begin);
        flat.elements += elements;
        begin += elements;
      }
  }
  return all;
}

std::int64_t whole_pieces(std::int64_t elements) {
  constexpr std::int64_t unit = plan::staged_alignment / 4;
  return (elements + unit - 1) / unit * unit;
}

/// `bytes` hold the step, then gradients, weights and states of so many elements.
kernels::OwnStage stage_in(std::byte* bytes, std::int64_t elements, int states) {
  kernels::OwnStage stage;
  stage.step = reinterpret_cast<kernels::OwnStep*>(bytes);
  stage.stride = whole_pieces(elements);
  stage.state_count = states;
  stage.gradients = reinterpret_cast<float*>(bytes + plan::staged_alignment);
  stage.weights = stage.gradients + stage.stride;
  stage.states = stage.weights + stage.stride;
  return stage;
}

/// The launches of one flat range.
struct Staged {
  kernels::StageTable table;
  kernels::OwnStage stage;
  std::int64_t elements = 0;
  double weight_decay = 0;
};

/// A rule over numbers that a stream calls on the host.
struct HostCall {
  std::shared_ptr<const optim::OwnRule> rule;
  OnHost on_host;
  kernels::OwnStage stage;
  std::int64_t elements = 0;
  double weight_decay = 0;
};

void update_part(const HostCall& call, std::int64_t begin, std::int64_t end) {
  const kernels::OwnStage& s = call.stage;
  const auto n = static_cast<std::size_t>(end - begin);
  std::vector<std::span<float>> states;
  for (int k = 0; k < s.state_count; ++k) states.emplace_back(s.states + k * s.stride + begin, n);
  const UpdateRange range{std::span(s.weights + begin, n),
                          std::span(s.gradients + begin, n),
                          states,
                          s.step->lr,
                          static_cast<std::int64_t>(s.step->step),
                          call.weight_decay};
  call.rule->update(range);
}

void call_on_host(void* data) {
  const HostCall& call = *static_cast<const HostCall*>(data);
  if (!call.stage.step->finite) return;
  call.on_host([&] {
    constexpr std::int64_t grain = 16384;
    tensor::parallel_for(0, call.elements, grain, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += grain) update_part(call, begin, std::min(end, begin + grain));
    });
  });
}

UpdateTensors tensors_of(const Staged& staged, cudaStream_t stream) {
  const kernels::OwnStage& s = staged.stage;
  const auto floats = [&](float* data) {
    return tensor::torch_view(make_tensor(data, DType::f32, {staged.elements}, Place::gpu));
  };
  const auto number = [](double* data) {
    return tensor::torch_view(make_tensor(data, DType::f64, {1}, Place::gpu))
        .view(at::IntArrayRef{});
  };
  UpdateTensors range{floats(s.weights),         floats(s.gradients),   {},
                      number(&s.step->lr),       number(&s.step->step), staged.weight_decay,
                      static_cast<void*>(stream)};
  for (int k = 0; k < s.state_count; ++k) range.states.push_back(floats(s.states + k * s.stride));
  return range;
}

using Run = std::function<void(const Staged&, cudaStream_t)>;

Run on_tensors(std::shared_ptr<const optim::OwnRule> rule, const OwnRules& rules) {
  return [rule = std::move(rule), &rules](const Staged& staged, cudaStream_t stream) {
    rules.run("optimizer " + rule->name(), [&] { rule->update(tensors_of(staged, stream)); });
  };
}

/// Down to the host, and what the rule made up again.
Run on_numbers(const std::shared_ptr<HostCall>& call, const OwnRules& rules) {
  return [call, staged = rules.staged(), on_host = rules.on_host()](const Staged& s,
                                                                    cudaStream_t stream) {
    const auto offset = [&](const float* p) {
      return reinterpret_cast<const std::byte*>(p) - staged;
    };
    const auto end =
        static_cast<std::size_t>(offset(s.stage.states + s.stage.state_count * s.stage.stride));
    const auto made = static_cast<std::size_t>(offset(s.stage.weights));
    require(cudaMemcpyAsync(on_host, staged, end, cudaMemcpyDeviceToHost, stream),
            "weights to the optimizer's rule");
    require(cudaLaunchHostFunc(stream, call_on_host, call.get()), "the optimizer's rule");
    require(
        cudaMemcpyAsync(staged + made, on_host + made, end - made, cudaMemcpyHostToDevice, stream),
        "weights from the optimizer's rule");
  };
}

}  // namespace

OwnRules::OwnRules(const options::OwnOptimizerOptions& options, const plan::OwnRuleMemory& planned,
                   std::byte* staged, operations::cuda::TorchCuda* torch, OwnCodeMemory* memory)
    : rule_(options), planned_(planned), staged_(staged), torch_(torch), memory_(memory) {
  const std::string pinned_for = "pinned host memory of the optimizer's rule";
  if (!rule_.on_tensors()) on_host_ = gpu::allocate_pinned(planned_.staged_bytes, pinned_for);
  fault_ = gpu::allocate_pinned(sizeof(std::int64_t), pinned_for);
  new (fault_.as<void>()) std::int64_t{0};
}

void OwnRules::run(const std::string& doing, const std::function<void()>& f) const {
  const operations::cuda::TorchCuda::Call call(*torch_, doing);
  if (!memory_) return gpu::with_device(doing, f);
  const OwnCodeMemory::RuleRuns runs(*memory_);
  gpu::with_device(doing, f);
}

void OwnRules::require_finite() const {
  const std::int64_t found = std::atomic_ref(*fault()).load(std::memory_order_relaxed);
  if (found == 0) return;
  const int what = kernels::what_of_fault(found);
  throw UserError(ExitCode::diverged, "optimizer " + rule_.name() + ": in update " +
                                          std::to_string(kernels::update_of_fault(found)) +
                                          " its " +
                                          rule_.not_finite(what == 0 ? program::none : what - 1));
}

std::function<cudaError_t(cudaStream_t)> own_update_start(const OwnUpdate& update,
                                                          const options::OwnOptimizerOptions& o,
                                                          DeviceTables& tables,
                                                          const OwnRules& rules, OnHost on_host) {
  const auto rule = std::make_shared<const optim::OwnRule>(o);
  const auto states = static_cast<int>(rule->states().size());
  std::vector<std::pair<Staged, Run>> launches;
  for (FlatRange& flat : flat_ranges(update.groups, rules.planned().elements)) {
    std::vector<std::int64_t> sizes;
    for (std::size_t k = 0; k < flat.parts.size(); ++k) {
      if (states > 0) flat.parts[k].states = tables.copy(flat.states[k]);
      sizes.push_back(flat.parts[k].range.elements);
    }
    const auto chunks = kernels::chunks_of(sizes);
    Staged staged;
    staged.table = {tables.copy(flat.parts), tables.copy(chunks),
                    static_cast<std::int64_t>(chunks.size())};
    staged.stage = stage_in(rules.staged(), flat.elements, states);
    staged.stage.fault = rules.fault();
    staged.elements = flat.elements;
    staged.weight_decay = flat.decays ? rule->weight_decay() : 0;
    if (rule->on_tensors()) {
      launches.emplace_back(staged, on_tensors(rule, rules));
      continue;
    }
    auto call = std::make_shared<HostCall>(
        HostCall{rule, on_host, stage_in(rules.on_host(), flat.elements, states), flat.elements,
                 staged.weight_decay});
    launches.emplace_back(staged, on_numbers(call, rules));
  }
  return [launches = std::move(launches), kind = update.kind, scalars = update.scalars,
          scale = update.scale](cudaStream_t stream) {
    for (const auto& [staged, run] : launches) {
      if (const cudaError_t error =
              kernels::own_stage(staged.table, kind, scalars, scale, staged.stage, stream);
          error != cudaSuccess)
        return error;
      run(staged, stream);
      if (const cudaError_t error =
              kernels::own_unstage(staged.table, kind, scalars, staged.stage, stream);
          error != cudaSuccess)
        return error;
    }
    return cudaSuccess;
  };
}

}  // namespace trainx::execute
