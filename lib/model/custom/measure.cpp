#include "model/custom/measure.hpp"
#include "core/error.hpp"
#include "model/custom/registry.hpp"
#include "model/model.hpp"
#include "tensor/allocator_meter.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <algorithm>
#include <map>

namespace trainx::model::custom {

using program::Op;

namespace {

[[noreturn]] void refuse(const architectures::CustomDims& dims, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model " + dims.options.name + ": " + sentence);
}

/// Shapes of outputs and parameters, from one forward in training mode; what it changes beside its
/// output is refused.
architectures::CustomShape trace_shapes(const architectures::CustomDims& dims, std::int64_t B,
                                        std::int64_t T) {
  architectures::CustomShape shape{B, T};
  const std::vector<Module> modules = build_modules(dims, 0);
  const at::NoGradGuard no_gradients;
  at::Tensor x = at::arange(B * T, at::kLong).remainder(dims.vocab_size).view({B, T});
  for (const Module& m : modules) {
    std::vector<at::Tensor> before;
    for (const Module::NamedTensor& b : m.buffers) before.push_back(b.tensor.clone());
    m.set_training(true);
    const at::IntArrayRef input = x.sizes();
    at::Tensor out;
    try {
      out = m.forward(x);
    } catch (const c10::Error& e) {
      refuse(dims,
             c10::str("module '", m.name, "' fails on ", input, ": ", e.what_without_backtrace()));
    }
    for (std::size_t i = 0; i < before.size(); ++i)
      if (!at::equal(before[i], m.buffers[i].tensor))
        refuse(dims, "module '" + m.name + "' changes its buffer '" + m.buffers[i].name +
                         "' in forward, which is neither saved nor recomputed; use a norm without "
                         "running statistics, such as LayerNorm");
    if (out.dim() < 1 || out.size(0) != B || !out.is_floating_point())
      refuse(dims,
             c10::str("module '", m.name, "' returns ", out.sizes(), " of ", out.scalar_type(),
                      "; values are floating and begin with the batch, ", B));
    architectures::CustomModule& made =
        shape.modules.emplace_back(architectures::CustomModule{m.name, {}, out.sizes().vec()});
    for (const Module::NamedTensor& p : m.parameters)
      made.parameters.push_back({p.name, p.tensor.sizes().vec()});
    x = out;
  }
  const bool classes = dims.task == architectures::Task::classification;
  const std::vector<std::int64_t> wanted = classes ? std::vector{B, dims.num_labels}
                                                   : std::vector{B, T, dims.vocab_size};
  if (x.sizes() != at::IntArrayRef(wanted))
    refuse(dims, c10::str("the last module, '", modules.back().name, "', returns ", x.sizes(),
                          "; logits are ", at::IntArrayRef(wanted),
                          classes ? " (batch, num_labels)" : " (batch, length, vocab_size)"));
  return shape;
}

/// The operands of all blocks, in memory of their own.
class Operands {
 public:
  explicit Operands(const program::ModelGraph& graph) : graph_(graph) {}
  BlockContext context(const program::BlockSpec& block, Op op, bool with_graph) {
    std::vector<Tensor> operands(block.slots.size());
    std::vector<program::How> how(block.slots.size(), program::How::read);
    for (const program::SlotUse& u : block.phases.at(op).uses) {
      const program::SlotSpec& slot = block.slots[static_cast<std::size_t>(u.slot)];
      const bool kept = slot.space == program::Space::library;
      if (kept && !with_graph) continue;
      at::Tensor& t = tensors_[{slot.role, slot.index}];
      if (!t.defined())
        t = at::zeros(kept ? std::vector<std::int64_t>{0} : slot.tensor.dims,
                      tensor::scalar_type(slot.tensor.dtype));
      operands[static_cast<std::size_t>(u.slot)] = t;
      how[static_cast<std::size_t>(u.slot)] = u.how;
    }
    const Mode mode = op == Op::evaluate ? Mode::eval : Mode::train;
    return {graph_, block, std::move(operands), std::move(how), mode, 0, 1.0};
  }

 private:
  const program::ModelGraph& graph_;
  std::map<std::pair<program::Role, int>, at::Tensor> tensors_;
};

}  // namespace

architectures::CustomShape measure_model(const architectures::CustomDims& dims, std::int64_t B,
                                         std::int64_t T, DType compute, std::int64_t threads) {
  architectures::CustomShape shape = trace_shapes(dims, B, T);
  shape.compute = compute;
  architectures::CustomDims described = dims;
  described.shapes = {shape};
  const program::ModelGraph graph = architectures::custom_graph(described, B, T, compute);
  const at::NoGradGuard no_gradients;  // as the executor has it
  const Blocks blocks = build_blocks(dims, graph);
  Operands operands(graph);
  const auto n = blocks.size();
  program::Bytes library = 0;
  // the first may build what libraries keep; threads meet in other orders
  for (int round = 0; round < 3; ++round) {
    auto run = [&](std::size_t k, Op op, bool with_graph = true) {
      BlockContext c = operands.context(graph.blocks[k], op, with_graph);
      const program::Bytes before = tensor::allocator_bytes().current;
      tensor::reset_allocator_peak();
      run_block(*blocks[k], op, c);
      const auto [now, peak, allocations] = tensor::allocator_bytes();
      const program::Bytes kept = op == Op::forward && with_graph ? now - before : 0;
      shape.modules[k].graph_bytes = std::max(shape.modules[k].graph_bytes, kept);
      library = std::max(library, peak - before - kept);
    };
    for (std::size_t k = 0; k + 1 < n; ++k) run(k, Op::forward, false);
    run(n - 1, Op::evaluate);
    for (std::size_t k = 0; k + 1 < n; ++k) run(k, Op::forward);
    run(n - 1, Op::loss);
    for (std::size_t k = n - 1; k-- > 0;) run(k, Op::backward);
  }
  // Products of bf16 are oneDNN's, whose scratchpad per thread comes and goes as threads meet
  // (architectures/library_bytes.cpp).
  constexpr program::Bytes scratchpad = 256 * 1024;
  shape.library_bytes = library + (compute == DType::bf16 ? threads * scratchpad : 0);
  return shape;
}

}  // namespace trainx::model::custom
