#include "model/custom/measure.hpp"
#include "architectures/exported.hpp"
#include "core/error.hpp"
#include "model/custom/buffers.hpp"
#include "model/custom/registry.hpp"
#include "model/model.hpp"
#include "operations/module/keyed_dropout.hpp"
#include "operations/module/module_device.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>

namespace trainx::model::custom {

using program::Op;

namespace {

[[noreturn]] void refuse(const architectures::CustomDims& dims, const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model " + dims.options.name + ": " + sentence);
}

std::string shapes_of(const std::vector<at::Tensor>& tensors) {
  std::string text;
  for (const at::Tensor& t : tensors) text += (text.empty() ? "" : ", ") + c10::str(t.sizes());
  return text;
}

/// A micro-batch as modules read it, by name.
std::map<std::string, at::Tensor> some_batch(const architectures::CustomDims& dims,
                                             const std::vector<FieldSpec>& fields, std::int64_t B,
                                             std::int64_t T) {
  std::map<std::string, at::Tensor> values;
  values["tokens"] = at::arange(B * T, at::kLong)
                         .remainder(std::max<std::int64_t>(dims.vocab_size, 1))
                         .view({B, T});
  const std::int64_t of_targets = architectures::target_length(dims, T);
  values["targets"] = at::zeros({B, of_targets}, at::kLong);
  values["target_tokens"] = at::zeros({B, of_targets}, at::kLong);
  values["lengths"] = at::full({B}, T, at::kLong);
  values["labels"] = at::zeros({B}, at::kLong);
  for (const FieldSpec& f : fields) {
    std::vector<std::int64_t> shape{B};
    shape.insert(shape.end(), f.dims.begin(), f.dims.end());
    values[f.name] = at::zeros(shape, tensor::scalar_type(f.dtype));
  }
  for (auto& [name, value] : values) value = value.to(operations::module_device());
  return values;
}

/// A tensor whose elements share memory, as placeholders of weights do, goes on sharing it.
at::Tensor moved(const at::Tensor& t, const at::Device& device) {
  if (t.is_non_overlapping_and_dense()) return t.to(device);
  const auto elements = static_cast<std::int64_t>(t.storage().nbytes() / t.itemsize());
  return t.as_strided({elements}, {1}, 0)
      .to(device)
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}

void move_to_device(const GraphModule& m) {
  const at::NoGradGuard no_gradients;
  const at::Device device = operations::module_device();
  for (const auto* tensors : {&m.parameters, &m.buffers})
    for (const NamedTensor& t : *tensors)
      if (t.tensor.device() != device) at::Tensor(t.tensor).set_data(moved(t.tensor, device));
  if (m.prepare) m.prepare(device, at::kFloat);
}

/// How far LibTorch's generators have drawn, of the CPU and of the device.
struct Drawn {
  at::Tensor host = at::detail::getDefaultCPUGenerator().get_state();
  std::uint64_t gpu = 0;
  Drawn() {
    const at::Device device = operations::module_device();
    if (device.is_cuda()) gpu = at::globalContext().defaultGenerator(device).get_offset();
  }
  bool operator==(const Drawn& other) const {
    return gpu == other.gpu && at::equal(host, other.host);
  }
};

void require_number(const architectures::CustomDims& dims, const std::string& who,
                    const at::Tensor& t, const std::string& what) {
  if (!t.defined() || t.numel() != 1)
    refuse(dims, who + " returns a loss whose " + what + " is " +
                     (t.defined() ? c10::str("of ", t.sizes()) : std::string("undefined")) +
                     "; it must be one number");
}

/// Calls a module of the trace, and notes which buffers it changes and whether it draws.
template <class Call>
auto traced(const architectures::CustomDims& dims, const GraphModule& m,
            const std::vector<at::Tensor>& inputs, architectures::CustomModule& noted,
            Call&& call) {
  std::vector<at::Tensor> before;
  for (const NamedTensor& b : m.buffers) before.push_back(b.tensor.clone());
  m.set_training(true);
  const Drawn drawn;
  const operations::DropoutScope dropout(
      {}, at::arange(inputs.front().size(0), inputs.front().options().dtype(at::kLong)));
  try {
    auto made = call(inputs);
    noted.draws = Drawn() != drawn;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const at::Tensor& now = m.buffers[i].tensor;
      if (now.sizes() == before[i].sizes() && at::equal(before[i], now)) continue;
      const bool is_saved = now.is_contiguous() && now.sizes() == before[i].sizes() &&
                            (now.is_floating_point() || now.scalar_type() == at::kLong ||
                             now.scalar_type() == at::kInt);
      if (!is_saved)
        refuse(dims, "module '" + m.name + "' changes its buffer '" + m.buffers[i].name +
                         "', which is saved as contiguous numbers of one shape alone: f32, i64 or "
                         "i32");
      noted.changing.push_back(m.buffers[i].name);
    }
    return made;
  } catch (const c10::Error& e) {
    refuse(dims, c10::str("module '", m.name, "' fails on ", shapes_of(inputs), ": ",
                          e.what_without_backtrace()));
  } catch (const std::invalid_argument& e) { refuse(dims, "module '" + m.name + "': " + e.what()); }
}

std::vector<architectures::CustomValue> values_of(const architectures::CustomDims& dims,
                                                  const GraphModule& m,
                                                  const std::vector<at::Tensor>& made,
                                                  std::int64_t B) {
  if (made.size() != m.outputs.size())
    refuse(dims, "module '" + m.name + "' returns " + std::to_string(made.size()) +
                     " tensors and has " + std::to_string(m.outputs.size()) + " outputs");
  std::vector<architectures::CustomValue> values;
  for (std::size_t k = 0; k < made.size(); ++k) {
    const at::Tensor& t = made[k];
    if (!t.defined() || t.dim() < 1 || t.dim() > Dims::most || t.size(0) != B ||
        !t.is_floating_point())
      refuse(dims, c10::str("module '", m.name, "' returns ",
                            t.defined() ? c10::str(t.sizes(), " of ", t.scalar_type())
                                        : std::string("nothing"),
                            "; values are floating, of at most 6 dimensions, and begin with the "
                            "batch, ",
                            B));
    values.push_back({m.outputs[k], t.sizes().vec()});
  }
  return values;
}

void check_logits(const architectures::CustomDims& dims, const GraphModule& m,
                  const std::vector<at::Tensor>& made, std::int64_t B, std::int64_t T) {
  const bool classes = dims.task == architectures::Task::classification;
  const std::vector<std::int64_t> wanted =
      classes ? std::vector{B, dims.num_labels}
              : std::vector{B, architectures::target_length(dims, T), dims.vocab_size};
  if (made.size() != 1 || made[0].sizes() != at::IntArrayRef(wanted))
    refuse(dims, c10::str("the last module, '", m.name, "', returns ", shapes_of(made),
                          "; logits are ", at::IntArrayRef(wanted),
                          classes ? " (batch, num_labels)" : " (batch, length, vocab_size)",
                          ". A loss of your own returns trainx::Loss"));
}

std::vector<std::string> metrics_of(const architectures::CustomDims& dims, const GraphModule& m,
                                    const Loss& loss) {
  const std::string who = "module '" + m.name + "'";
  require_number(dims, who, loss.sum, "sum");
  require_number(dims, who, loss.count, "count");
  std::vector<std::string> names;
  for (const Metric& metric : loss.metrics) {
    const bool is_word = !metric.name.empty() && std::ranges::all_of(metric.name, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    if (!is_word)
      refuse(dims, who + ": metric '" + metric.name + "' needs a name of letters, digits and '_'");
    if (std::ranges::find(names, metric.name) != names.end())
      refuse(dims, who + " returns the metric '" + metric.name + "' twice");
    require_number(dims, who, metric.sum, "metric " + metric.name);
    if (metric.count.defined())
      require_number(dims, who, metric.count, "count of the metric " + metric.name);
    names.push_back(metric.name);
  }
  return names;
}

/// Shapes of values and parameters, from one forward in training mode; what it changes beside its
/// outputs is refused.
architectures::CustomShape trace_shapes(const architectures::CustomDims& dims, std::int64_t B,
                                        std::int64_t T) {
  architectures::CustomShape shape{B, T};
  const BuiltGraph graph = build_graph(dims, 0);
  for (const GraphModule& m : graph.modules) move_to_device(m);
  for (const Field& f : graph.fields)
    shape.fields.push_back({f.name, f.type == FieldType::i64 ? DType::i64 : DType::f32, f.dims});
  for (const GraphModule& m : graph.modules)
    if (dims.vocab_size < 1 && std::ranges::find(m.inputs, "tokens") != m.inputs.end())
      refuse(dims,
             "reads tokens and needs vocab_size, which the data does not say; give the model "
             "an option of that name");
  const at::NoGradGuard no_gradients;
  std::map<std::string, at::Tensor> values = some_batch(dims, shape.fields, B, T);
  for (std::size_t k = 0; k < graph.modules.size(); ++k) {
    const GraphModule& m = graph.modules[k];
    std::vector<at::Tensor> inputs;
    for (const std::string& input : m.inputs) inputs.push_back(values.at(input));
    architectures::CustomModule& made =
        shape.modules.emplace_back(architectures::CustomModule{m.name, {}, m.inputs});
    made.cheap = m.cheap;
    for (std::size_t p = 0; p < m.parameters.size(); ++p)
      made.parameters.push_back({graph.saved_names[k][p], m.parameters[p].tensor.sizes().vec()});
    if (m.loss) {
      shape.own_loss = true;
      shape.metrics = metrics_of(dims, m, traced(dims, m, inputs, made, m.loss));
      continue;
    }
    const std::vector<at::Tensor> out = traced(dims, m, inputs, made, m.forward);
    if (k + 1 == graph.modules.size()) {
      check_logits(dims, m, out, B, T);
      continue;
    }
    made.outputs = values_of(dims, m, out, B);
    for (std::size_t o = 0; o < out.size(); ++o) values[m.outputs[o]] = out[o];
  }
  if (!shape.own_loss && !shape.reads_tokens())
    refuse(dims,
           "the last module returns logits and no module reads tokens; let it return a "
           "trainx::Loss");
  if (!shape.reads_tokens() && T != 1)
    refuse(dims,
           "no module reads tokens, so that a sample counts as one: write "
           "data.sequence_length: 1");
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
      if (!t.defined()) {
        t = at::zeros(kept ? std::vector<std::int64_t>{0} : slot.tensor.dims,
                      at::TensorOptions()
                          .dtype(tensor::scalar_type(slot.tensor.dtype))
                          .device(operations::module_device()));
        bytes_ += (static_cast<program::Bytes>(t.nbytes()) + piece - 1) / piece * piece;
      }
      operands[static_cast<std::size_t>(u.slot)] = t;
      how[static_cast<std::size_t>(u.slot)] = u.how;
    }
    const Mode mode = op == Op::evaluate ? Mode::eval : Mode::train;
    return {graph_, block, std::move(operands), std::move(how), mode, 0, 1.0};
  }
  /// As a GPU's memory is handed out.
  program::Bytes bytes() const { return bytes_; }

 private:
  static constexpr program::Bytes piece = 512;
  const program::ModelGraph& graph_;
  std::map<std::pair<program::Role, int>, at::Tensor> tensors_;
  program::Bytes bytes_ = 0;
};

/// Measured: forward, loss and backward of one micro-batch, block by block.
class MeasuredStep {
 public:
  MeasuredStep(architectures::CustomShape& shape, const program::ModelGraph& graph,
               const Blocks& blocks, MeasuredDevice& device)
      : shape_(shape), graph_(graph), blocks_(blocks), device_(device), operands_(graph) {}

  void run_round(bool counts) {
    counts_ = counts;
    const std::size_t last = blocks_.size() - 1;
    for (std::size_t k = 0; k < last; ++k) run(k, Op::forward, false);
    run(last, Op::evaluate);
    run_step();
  }
  /// Beside what modules take: seconds of each alone, and of the whole step.
  void time_round() {
    counts_ = false;
    alone_.assign(blocks_.size(), {});
    for (int round = 0; round < 3; ++round) {
      times_ = round > 0;  // the first one finds everything loaded
      run_step();
    }
    times_ = false;
    device_.wait();
    const auto begin = Clock::now();
    run_step();
    device_.wait();
    step_s_ = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  double step_s() const { return step_s_; }
  /// Lets a step take that long, each module as much of it as it took of all alone.
  void share_out(double step_s) {
    double all = 0;
    for (const auto& [forward, backward] : alone_) all += forward + backward;
    for (std::size_t k = 0; k < alone_.size() && all > 0; ++k) {
      shape_.modules[k].forward_s = alone_[k].forward_s * step_s / all;
      shape_.modules[k].backward_s = alone_[k].backward_s * step_s / all;
    }
  }
  void run_step() {
    const std::size_t last = blocks_.size() - 1;
    for (std::size_t k = 0; k < last; ++k) run(k, Op::forward);
    run(last, Op::loss);
    for (std::size_t k = last; k-- > 0;)
      if (graph_.blocks[k].phases.contains(Op::backward)) run(k, Op::backward);
  }
  /// Most that one instruction allocates beside operands and graph.
  program::Bytes library_bytes() const { return library_; }
  program::Bytes operand_bytes() const { return operands_.bytes(); }
  /// The module that is computed, or was last.
  const std::string& name() const { return shape_.modules[at_].name; }

 private:
  void run(std::size_t k, Op op, bool with_graph = true) {
    at_ = k;
    BlockContext c = operands_.context(graph_.blocks[k], op, with_graph);
    const program::Bytes before = device_.used_bytes();
    device_.reset_peak();
    if (times_) device_.wait();
    const auto begin = Clock::now();
    run_block(*blocks_[k], op, c);
    if (times_) {
      device_.wait();
      const std::chrono::duration<double> took = Clock::now() - begin;
      (op == Op::backward ? alone_[k].backward_s : alone_[k].forward_s) += took.count();
    }
    const program::Bytes now = device_.used_bytes(), peak = device_.peak_bytes();
    if (!counts_) return;
    const program::Bytes kept = op == Op::forward && with_graph ? now - before : 0;
    program::Bytes& graph_bytes = shape_.modules[k].graph_bytes;
    graph_bytes = std::max(graph_bytes, kept);
    library_ = std::max(library_, peak - before - kept);
  }

  using Clock = std::chrono::steady_clock;
  struct Times {
    double forward_s = 0, backward_s = 0;
  };

  architectures::CustomShape& shape_;
  const program::ModelGraph& graph_;
  const Blocks& blocks_;
  MeasuredDevice& device_;
  Operands operands_;
  program::Bytes library_ = 0;
  std::size_t at_ = 0;
  bool counts_ = true, times_ = false;
  std::vector<Times> alone_;  // by module
  double step_s_ = 0;
};

/// Why steps cannot be replayed as CUDA graphs; empty: they can, or are not to be. `step_s`: what a
/// replay takes, where they can.
std::string why_not_captured(const architectures::CustomShape& shape, MeasuredStep& step,
                             MeasuredDevice& device, double& step_s) {
  if (!device.captures()) return {};
  const auto drawing = std::ranges::find_if(shape.modules, &architectures::CustomModule::draws);
  if (drawing != shape.modules.end())
    return "module '" + drawing->name +
           "' draws from LibTorch's generator, whose numbers a CUDA graph would repeat in each "
           "step; trainx::dropout (trainx/dropout.hpp) draws anew";
  program::Bytes bytes = shape.library_bytes;
  for (const architectures::CustomModule& m : shape.modules) bytes += m.graph_bytes;
  const std::string why = device.try_capture(
      bytes, [&] { step.run_step(); }, step_s);
  return why.empty() ? why : "module '" + step.name() + "' " + why;
}

}  // namespace

architectures::CustomShape measure_model(const architectures::CustomDims& dims, std::int64_t B,
                                         std::int64_t T, DType compute, std::int64_t threads,
                                         MeasuredDevice& device) {
  const bool on_gpu = device.place() == Place::gpu;
  architectures::CustomShape shape;
  device.compute([&] { shape = trace_shapes(dims, B, T); });
  shape.compute = compute;
  shape.on_gpu = on_gpu;
  architectures::CustomDims described = dims;
  described.shapes = {shape};
  const program::ModelGraph graph = architectures::custom_graph(
      described, B, T, compute,
      on_gpu ? architectures::GraphOptions::on_gpu() : architectures::GraphOptions());
  const at::NoGradGuard no_gradients;  // as the executor has it
  forget_buffers();
  const Blocks blocks = build_blocks(described, graph);
  MeasuredStep step(shape, graph, blocks, device);
  program::Bytes stays = 0;
  device.compute([&] {
    // Libraries build what they keep; on a GPU that stays in the modules' memory.
    if (on_gpu) {
      step.run_round(false);
      stays = device.used_bytes() - step.operand_bytes();
    }
    // on a CPU the first may build what libraries keep, and threads meet in other orders
    for (int round = 0; round < (on_gpu ? 1 : 3); ++round) step.run_round(true);
  });
  for (architectures::CustomModule& m : shape.modules)
    m.graph_bytes = device.planned(m.graph_bytes);
  shape.library_bytes = device.planned(step.library_bytes());
  if (on_gpu) {
    constexpr program::Bytes smallest = program::Bytes{32} << 20;
    shape.library_bytes += stays + smallest;
    device.compute([&] { step.time_round(); });
    double step_s = step.step_s();
    shape.not_captured = why_not_captured(shape, step, device, step_s);
    step.share_out(step_s);
  }
  forget_buffers();
  // Products of bf16 are oneDNN's, whose scratchpad per thread comes and goes as threads meet
  // (architectures/library_bytes.cpp).
  constexpr program::Bytes scratchpad = 256 * 1024;
  if (on_gpu) return shape;
  // Of what is freed glibc keeps as much at its heap's end: twice the largest M_MMAP_THRESHOLD.
  constexpr program::Bytes kept_heap = program::Bytes{64} << 20;
  program::Bytes freed = 0;
  for (const architectures::CustomModule& m : shape.modules) freed = std::max(freed, m.graph_bytes);
  freed += shape.library_bytes;
  shape.library_bytes += std::min(freed, kept_heap) +
                         (size_of(compute) == 2 ? threads * scratchpad : 0);
  return shape;
}

}  // namespace trainx::model::custom
