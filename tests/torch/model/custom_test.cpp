// A chain of a user's modules as blocks: gradients against one autograd graph over the whole chain;
// bytes against what was measured; what is refused.
#include "model/custom/buffers.hpp"
#include "model/custom/measure.hpp"
#include "model/custom/registry.hpp"
#include "compare.hpp"
#include "support/user_error.hpp"
#include "model/model.hpp"
#include "operations/module/keyed_dropout.hpp"
#include "operations/module/module_state.hpp"
#include "trainx/dropout.hpp"
#include "tensor/allocator_meter.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/autograd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include "support/catch.hpp"
#include <algorithm>

namespace custom_test {

using namespace trainx;

namespace {

constexpr std::int64_t vocab = 11, width = 6, classes = 3;

Module link(std::string name, std::vector<std::pair<std::string, at::Tensor>> parameters,
            std::function<at::Tensor(const std::vector<at::Tensor>&, const at::Tensor&, bool)> f) {
  Module m{.name = std::move(name)};
  std::vector<at::Tensor> own;
  for (auto& [key, tensor] : parameters)
    own.push_back(tensor.requires_grad_(true)), m.parameters.push_back({key, tensor});
  const auto training = std::make_shared<bool>(true);
  m.set_training = [training](bool now) { *training = now; };
  m.forward = [own, f, training](const at::Tensor& x) { return f(own, x, *training); };
  return m;
}

/// Embedding, tanh without parameters, a linear layer with dropout and a number as its gain, logits
/// of tokens or of classes.
std::vector<Module> chain(bool classification, double dropout = 0) {
  using Own = const std::vector<at::Tensor>&;
  using X = const at::Tensor&;
  std::vector<Module> modules;
  modules.push_back(link("embedding", {{"weight", at::randn({vocab, width})}},
                         [](Own w, X x, bool) { return at::embedding(w[0], x); }));
  modules.push_back(link("squash", {}, [](Own, X x, bool) { return at::tanh(x); }));
  modules.push_back(link("inner",
                         {{"bias", at::randn({width})},
                          {"weight", at::randn({width, width})},
                          {"gain", at::full({}, 1.5)}},
                         [dropout](Own w, X x, bool training) {
                           return at::dropout(w[2] * at::linear(x, w[1], w[0]), dropout, training);
                         }));
  if (classification)
    modules.push_back(link("head", {{"weight", at::randn({classes, width})}},
                           [](Own w, X x, bool) { return at::linear(x.mean(1), w[0]); }));
  else
    modules.push_back(link("head", {{"weight", at::randn({vocab, width})}},
                           [](Own w, X x, bool) { return at::linear(x, w[0]); }));
  return modules;
}

void define(const std::string& name, std::function<Graph()> build) {
  add_model_definition(
      {name, "of a test", {}, [build = std::move(build)](const auto&, const ModelShape&) {
         return build();
       }});
}

architectures::CustomDims dims_of(const std::string& name, bool classification = false) {
  architectures::CustomDims dims{{name, "", {}}};
  dims.vocab_size = vocab, dims.max_positions = 16;
  if (classification) dims.task = architectures::Task::classification, dims.num_labels = classes;
  return dims;
}

/// On the CPU, in fp32.
architectures::CustomShape measured(const architectures::CustomDims& dims, std::int64_t B,
                                    std::int64_t T) {
  const auto device = model::custom::measured_cpu();
  return model::custom::measure_model(dims, B, T, DType::f32, 2, *device);
}

struct Run {
  program::ModelGraph graph;
  model::Blocks blocks;
  std::map<std::pair<program::Role, int>, at::Tensor> memory;

  Run(architectures::CustomDims dims, std::int64_t B, std::int64_t T) {
    tensor::install_allocator_meter();
    dims.shapes = {measured(dims, B, T)};
    graph = architectures::custom_graph(dims, B, T, DType::f32);
    blocks = model::build_blocks(dims, graph);
    const auto fill = model::weight_initializer(dims, 5).fill;
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      at::Tensor& w = memory[{program::Role::parameter, static_cast<int>(g)}] =
          at::zeros({graph.groups[g].elements});
      fill(graph.groups[g], w.data_ptr<float>());
      memory[{program::Role::gradient, static_cast<int>(g)}] = at::zeros_like(w);
    }
  }
  at::Tensor& of(const program::SlotSpec& s) {
    at::Tensor& t = memory[{s.role, s.role == program::Role::saved ? -1 : s.index}];
    if (!t.defined())
      t = at::zeros(s.role == program::Role::saved ? std::vector<std::int64_t>{0} : s.tensor.dims,
                    tensor::scalar_type(s.tensor.dtype));
    return t;
  }
  void step(std::size_t block, program::Op op, bool keeps, model::Mode mode = model::Mode::train) {
    const program::BlockSpec& b = graph.blocks[block];
    std::vector<program::SlotUse> uses;
    for (const auto& u : b.phases.at(op).uses)
      if (keeps || b.slots[u.slot].space != program::Space::library) uses.push_back(u);
    step(block, op, uses, mode);
  }
  void step(std::size_t block, program::Op op, const std::vector<program::SlotUse>& uses,
            model::Mode mode) {
    const program::BlockSpec& b = graph.blocks[block];
    std::vector<Tensor> operands(b.slots.size());
    std::vector<program::How> how(b.slots.size(), program::How::read);
    for (const auto& u : uses) operands[u.slot] = of(b.slots[u.slot]), how[u.slot] = u.how;
    model::BlockContext c(graph, b, operands, how, mode, 9, 0.25);
    run_block(*blocks[block], op, c);
  }
  /// `recompute`: forward keeps nothing and is run again before backward.
  void run(bool recompute) {
    const std::size_t last = blocks.size() - 1;
    for (std::size_t k = 0; k < last; ++k) step(k, program::Op::forward, !recompute);
    step(last, program::Op::loss, true);
    for (std::size_t k = last; k-- > 0;) {
      if (recompute) step(k, program::Op::forward, true);
      step(k, program::Op::backward, true);
    }
  }
  /// Of a graph with an own loss.
  void fill_fields() {
    for (auto& b : graph.blocks)
      for (auto& s : b.slots)
        if (s.role == program::Role::batch) of(s);
    for (std::size_t k = 1; k < graph.batch.size(); ++k) {
      at::Tensor& t = memory.at({program::Role::batch, static_cast<int>(k)});
      t.copy_(at::arange(t.numel()).view(t.sizes()).remainder(3));
    }
  }
  void fill_batch(bool classification) {
    for (auto& b : graph.blocks)
      for (auto& s : b.slots)
        if (s.role == program::Role::batch) of(s);
    auto* tokens = memory.at({program::Role::batch, 0}).data_ptr<std::int32_t>();
    at::Tensor& targets = memory.at({program::Role::batch, 2});
    for (std::int64_t i = 0; i < memory.at({program::Role::batch, 0}).numel(); ++i)
      tokens[i] = static_cast<std::int32_t>(i * 5 % vocab);
    for (std::int64_t i = 0; i < targets.numel(); ++i)
      targets.data_ptr<std::int32_t>()[i] =
          i == 1 ? -100 : static_cast<std::int32_t>(i * 7 % (classification ? classes : vocab));
  }
  double scalar(program::Role role) {
    return memory.at({role, role == program::Role::loss_sum ? 0 : 1}).item<double>();
  }
};

std::map<std::string, at::Tensor> gradients_of_one_graph(Run& run,
                                                         const architectures::CustomDims& dims) {
  auto modules = model::build_graph(dims, 5).modules;
  at::Tensor x = run.memory.at({program::Role::batch, 0}).to(at::kLong);
  for (auto& m : modules) x = m.forward({x}).at(0);
  const at::Tensor targets = run.memory.at({program::Role::batch, 2}).to(at::kLong).view({-1});
  const at::Tensor loss = at::cross_entropy_loss(x.reshape({targets.numel(), -1}), targets, {},
                                                 at::Reduction::Sum, -100);
  (loss * 0.25).backward();
  CHECK(std::abs(run.scalar(program::Role::loss_sum) - loss.item<double>()) <=
        1e-5 * loss.item<double>());
  CHECK(run.scalar(program::Role::target_count) == static_cast<double>(targets.numel() - 1));
  std::map<std::string, at::Tensor> out;
  for (auto& m : modules)
    for (auto& p : m.parameters) out[m.name + "." + p.name] = p.tensor.grad();
  return out;
}

}  // namespace

TEST_CASE("a chain's gradients are those of one autograd graph, kept or recomputed") {
  const bool classification = GENERATE(false, true), recompute = GENERATE(false, true);
  const std::string name = classification ? "classifier" : "chain";
  define(name, [=] { return chain(classification); });
  const auto dims = dims_of(name, classification);
  Run run(dims, 3, 4);
  run.fill_batch(classification);
  run.run(recompute);
  const auto want = gradients_of_one_graph(run, dims);
  std::size_t seen = 0;
  for (std::size_t g = 0; g < run.graph.groups.size(); ++g)
    for (const auto& p : run.graph.groups[g].parameters) {
      const at::Tensor got = run.memory.at({program::Role::gradient, static_cast<int>(g)})
                                 .narrow(0, p.offset, p.elements())
                                 .view(p.saved_dims);
      INFO(p.name);
      CHECK(model::test::relative_error(got, want.at(p.name)) <= 1e-6);
      ++seen;
    }
  CHECK(seen == want.size());
  CHECK(run.graph.groups[1].parameters[0].name == "inner.weight");  // decayed ones first
  run.run(recompute);                                               // added to what is there
  const auto& head = run.memory.at({program::Role::gradient, 2});
  CHECK(model::test::relative_error(
            head.narrow(0, 0, want.at("head.weight").numel()).view_as(want.at("head.weight")),
            2 * want.at("head.weight")) <= 1e-6);
}

TEST_CASE("logits become their gradient only where nobody else looks at them") {
  using Own = const std::vector<at::Tensor>&;
  using X = const at::Tensor&;
  const std::string kind = GENERATE("saved", "kept", "view", "read");
  const auto kept = std::make_shared<at::Tensor>();
  define(kind, [=] {
    auto modules = chain(false);
    modules.back() = link("head",
                          {{"bias", at::randn({vocab})}, {"weight", at::randn({vocab, width})}},
                          [=](Own w, X x, bool) {
                            const at::Tensor y = at::linear(x, w[1], w[0]);
                            if (kind == "saved") return at::tanh(y);
                            if (kind == "view") return y.transpose(0, 1).transpose(0, 1);
                            if (kind == "kept") *kept = y;
                            return kind == "read" ? y * y : y;
                          });
    return modules;
  });
  const auto dims = dims_of(kind);
  Run run(dims, 3, 4);
  run.fill_batch(false);
  run.run(false);
  const at::Tensor logits = kept->defined() ? kept->clone() : at::Tensor();
  const auto want = gradients_of_one_graph(run, dims);  // which keeps its own
  if (logits.defined()) CHECK(model::test::relative_error(logits, *kept) <= 1e-6);
  for (std::size_t g = 0; g < run.graph.groups.size(); ++g)
    for (const auto& p : run.graph.groups[g].parameters) {
      const at::Tensor got = run.memory.at({program::Role::gradient, static_cast<int>(g)})
                                 .narrow(0, p.offset, p.elements())
                                 .view(p.saved_dims);
      INFO(kind << " " << p.name);
      CHECK(model::test::relative_error(got, want.at(p.name)) <= 1e-6);
    }
}

TEST_CASE("a module's output follows from the slots it declares, and its graph from the same") {
  define("declared", [] { return chain(false, 0.5); });
  Run run(dims_of("declared"), 3, 4);
  run.fill_batch(false);
  for (std::size_t k = 0; k + 1 < run.blocks.size(); ++k) {
    run.step(k, program::Op::forward, true);
    const program::BlockSpec& b = run.graph.blocks[k];
    int outputs = 0;
    for (const auto& made : b.phases.at(program::Op::forward).uses) {
      if (made.how == program::How::read) continue;
      INFO(b.name << " " << b.slots[made.slot].name);
      const at::Tensor want = run.of(b.slots[made.slot]).clone();
      run.of(b.slots[made.slot]).zero_();
      std::vector<program::SlotUse> uses{made};
      for (const auto from : b.slots[made.slot].from) uses.push_back({from, program::How::read});
      run.step(k, program::Op::forward, uses, model::Mode::train);
      CHECK(at::equal(run.of(b.slots[made.slot]), want));
      ++outputs;
    }
    CHECK(outputs == 2);
  }
}

TEST_CASE("a module's backward reads no more than it declares") {
  define("read", [] { return chain(false, 0.5); });
  Run whole(dims_of("read"), 3, 4), spoilt(dims_of("read"), 3, 4);
  for (Run* run : {&whole, &spoilt}) run->fill_batch(false);
  whole.run(false);
  const std::size_t last = spoilt.blocks.size() - 1;
  for (std::size_t k = 0; k < last; ++k) spoilt.step(k, program::Op::forward, true);
  spoilt.step(last, program::Op::loss, true);
  for (std::size_t k = last; k-- > 0;) {
    const program::BlockSpec& b = spoilt.graph.blocks[k];
    const auto& uses = b.phases.at(program::Op::backward).uses;
    for (program::Slot s = 0; s < static_cast<program::Slot>(b.slots.size()); ++s)
      if (std::ranges::find(uses, s, &program::SlotUse::slot) == uses.end())
        spoilt.of(b.slots[s])
            .fill_(at::isFloatingType(spoilt.of(b.slots[s]).scalar_type())
                       ? std::numeric_limits<double>::quiet_NaN()
                       : 0.0);
    spoilt.step(k, program::Op::backward, true);
  }
  for (const auto& [key, tensor] : whole.memory)
    if (key.first == program::Role::gradient) CHECK(at::equal(tensor, spoilt.memory.at(key)));
}

TEST_CASE("dropout is drawn again when a module is recomputed, and not in evaluation") {
  define("dropping", [] { return chain(false, 0.5); });
  Run kept(dims_of("dropping"), 3, 4), recomputed(dims_of("dropping"), 3, 4);
  for (Run* run : {&kept, &recomputed}) run->fill_batch(false), run->run(run == &recomputed);
  for (const auto& [key, tensor] : kept.memory)
    if (key.first == program::Role::gradient) CHECK(at::equal(tensor, recomputed.memory.at(key)));
  auto evaluated = [&] {
    kept.memory.at({program::Role::loss_sum, 0}).zero_();
    for (std::size_t k = 0; k + 1 < kept.blocks.size(); ++k)
      kept.step(k, program::Op::forward, false, model::Mode::eval);
    kept.step(kept.blocks.size() - 1, program::Op::evaluate, false, model::Mode::eval);
    return kept.scalar(program::Role::loss_sum);
  };
  const double first = evaluated();
  CHECK(first == evaluated());
  CHECK(first != recomputed.scalar(program::Role::loss_sum));
}

TEST_CASE("what blocks allocate is what was measured") {
  define("measured", [] { return chain(false, 0.1); });
  Run run(dims_of("measured"), 4, 8);
  run.fill_batch(false);
  run.run(false);  // operands are made
  const bool recompute = GENERATE(false, true);
  program::Bytes graphs = 0, largest = 0;
  for (const auto& b : run.graph.blocks)
    for (const auto& s : b.slots)
      if (s.space == program::Space::library)
        graphs += s.tensor.bytes(), largest = std::max(largest, s.tensor.bytes());
  const auto before = tensor::allocator_bytes().current;
  tensor::reset_allocator_peak();
  run.run(recompute);
  const auto peak = tensor::allocator_bytes().peak - before,
             planned = (recompute ? largest : graphs) + run.graph.library_bytes;
  INFO("peak " << peak << " planned " << planned);
  CHECK(peak <= planned);
  CHECK(planned <= 2 * peak + 4096);
  CHECK(tensor::allocator_bytes().current == before);
}

TEST_CASE("what trainx cannot train is told") {
  auto refused = [n = 0](std::function<void(std::vector<Module>&)> spoil) mutable {
    const std::string name = "spoilt" + std::to_string(n++);
    define(name, [=] {
      auto modules = chain(false);
      spoil(modules);
      return modules;
    });
    return user_error_of([&] { measured(dims_of(name), 2, 4); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.starts_with("78: model "));
    CHECK(text.find(part) != std::string::npos);
  };
  has(refused([](auto& m) { m.clear(); }), "no module");
  has(refused([](auto& m) { m.pop_back(); }), "logits are [2, 4, 11]");
  has(refused([](auto& m) { m[1].name = "embedding"; }), "two modules are called 'embedding'");
  has(refused([](auto& m) { m[1].name = "a.b"; }), "letters");
  has(refused([](auto& m) { m[2].parameters[0].tensor.requires_grad_(false); }),
      "wants no gradient");
  has(refused([](auto& m) { std::swap(m[0], m[2]); }), "fails on [2, 4]");
  has(refused([](auto& m) {
        at::Tensor seen = at::zeros({1});
        m[1].buffers.push_back({"seen", seen});
        m[1].forward = [seen](const at::Tensor& x) mutable {
          return seen.set_data(at::cat({seen, seen})), x * 1;
        };
      }),
      "changes its buffer 'seen'");
  has(refused([](auto&) { throw std::runtime_error("no such file"); }),
      "cannot be built: no such file");
}

namespace {

GraphModule node(std::string name, std::vector<NamedTensor> parameters,
                 std::vector<std::string> inputs, std::vector<std::string> outputs) {
  GraphModule m;
  m.name = std::move(name), m.parameters = std::move(parameters);
  m.inputs = std::move(inputs), m.outputs = std::move(outputs);
  m.set_training = [](bool) {};
  return m;
}

/// features = left W; (a, b) = (tanh(features W), features' sum + right); the loss reads all three,
/// so that features has two readers and W two modules.
Graph towers() {
  using Values = const std::vector<at::Tensor>&;
  const at::Tensor w = at::randn({width, width}).requires_grad_(true);
  Graph g;
  g.field("left", {width});
  g.field("right", {}, FieldType::i64);
  const at::Tensor bias = at::randn({width}).requires_grad_(true);
  g.modules.push_back(node("first", {{"weight", w}, {"bias", bias}}, {"left"}, {"features"}));
  g.modules.back().forward = [w, bias](Values x) {
    return std::vector{at::matmul(x[0], w) + bias};
  };
  g.modules.push_back(node("second", {{"weight", w}}, {"features", "right"}, {"a", "b"}));
  g.modules.back().forward = [w](Values x) {
    return std::vector{at::tanh(at::matmul(x[0], w)), x[0].sum(1) + x[1].to(at::kFloat)};
  };
  g.modules.push_back(node("loss", {}, {"features", "a", "b", "right"}, {}));
  g.modules.back().loss = [](Values x) {
    const at::Tensor each = (x[0] * x[1]).sum(1) + x[2] * x[2];
    return Loss{each.sum(),
                (x[3] + 1).sum(),
                {{"largest", each.max()}, {"mean", each.sum(), at::full({}, x[0].size(0))}}};
  };
  return g;
}

}  // namespace

TEST_CASE("a graph's gradients are those of one autograd graph; tied weights sum theirs") {
  const bool recompute = GENERATE(false, true);
  define("towers", towers);
  architectures::CustomDims dims{{"towers", "", {}}};
  Run run(dims, 3, 1);
  run.fill_fields();
  run.run(recompute);
  const auto modules = model::build_graph(dims, 5).modules;
  const auto field = [&](int k) { return run.memory.at({program::Role::batch, k}); };
  const at::Tensor features = modules[0].forward({field(1)}).at(0);
  const auto both = modules[1].forward({features, field(2)});
  const Loss loss = modules[2].loss({features, both[0], both[1], field(2)});
  (loss.sum * 0.25).backward();
  const at::Tensor want = modules[0].parameters[0].tensor.grad();
  REQUIRE(run.graph.groups.size() == 2);  // a backward writes groups as a whole
  CHECK(run.graph.groups[0].parameters.size() == 1);
  const auto got = [&] {
    return run.memory.at({program::Role::gradient, 0}).narrow(0, 0, want.numel()).view_as(want);
  };
  CHECK(model::test::relative_error(got(), want) <= 1e-6);
  CHECK(std::abs(run.scalar(program::Role::loss_sum) - loss.sum.item<double>()) <=
        1e-6 * std::abs(loss.sum.item<double>()));
  CHECK(run.scalar(program::Role::target_count) == loss.count.item<double>());
  const at::Tensor metrics = run.memory.at({program::Role::metric, 2});
  CHECK(metrics[0][1].item<double>() == loss.count.item<double>());
  CHECK(metrics[1][1].item<double>() == 3);
  CHECK(std::abs(metrics[1][0].item<double>() - loss.sum.item<double>()) <= 1e-5);
  run.run(recompute);  // added to what is there
  CHECK(model::test::relative_error(got(), 2 * want) <= 1e-6);
}

TEST_CASE("backward reads weights and values where they lie then") {
  define("moving", towers);
  architectures::CustomDims dims{{"moving", "", {}}};
  Run still(dims, 3, 1), moved(dims, 3, 1);
  still.fill_fields(), moved.fill_fields();
  still.run(false);
  for (std::size_t k = 0; k < 2; ++k) moved.step(k, program::Op::forward, true);
  moved.step(2, program::Op::loss, true);
  std::vector<at::Tensor> old;
  for (auto& [key, tensor] : moved.memory)
    if (key.first == program::Role::parameter || key.first == program::Role::value)
      old.push_back(std::exchange(tensor, tensor.clone()));
  for (at::Tensor& t : old) t.fill_(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 2; k-- > 0;) moved.step(k, program::Op::backward, true);
  CHECK(at::equal(moved.memory.at({program::Role::gradient, 0}),
                  still.memory.at({program::Role::gradient, 0})));
}

TEST_CASE("an own loss sees samples of the data alone in evaluation") {
  define("filled up", towers);
  architectures::CustomDims dims{{"filled up", "", {}}};
  Run part(dims, 2, 1), filled(dims, 3, 1);
  part.fill_fields(), filled.fill_fields();
  filled.memory.at({program::Role::batch, 0})[2] = -1;
  for (Run* run : {&part, &filled}) {
    for (std::size_t k = 0; k < 2; ++k)
      run->step(k, program::Op::forward, false, model::Mode::eval);
    run->step(2, program::Op::evaluate, false, model::Mode::eval);
  }
  CHECK(part.scalar(program::Role::loss_sum) == filled.scalar(program::Role::loss_sum));
  CHECK(part.scalar(program::Role::target_count) == filled.scalar(program::Role::target_count));
}

TEST_CASE("what a graph must not be is told") {
  auto refused = [n = 0](std::function<void(Graph&)> spoil) mutable {
    const std::string name = "spoilt-graph" + std::to_string(n++);
    define(name, [=] {
      Graph g = towers();
      spoil(g);
      return g;
    });
    architectures::CustomDims dims{{name, "", {}}};
    return user_error_of([&] { measured(dims, 2, 1); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.starts_with("78: model "));
    CHECK(text.find(part) != std::string::npos);
  };
  has(refused([](Graph& g) { g.modules[1].inputs[0] = "feature"; }), "reads 'feature'");
  has(refused([](Graph& g) { g.modules[1].outputs[1] = "features"; }), "there is already");
  has(refused([](Graph& g) { g.modules[2].inputs.pop_back(), g.modules[1].outputs[1] = "c"; }),
      "reads 'b'");
  has(refused([](Graph& g) { g.modules[0].outputs.push_back("more"); }), "no module reads");
  has(refused([](Graph& g) { g.modules[0].loss = g.modules[2].loss; }), "is not the last module");
  has(refused([](Graph& g) { g.modules[2].outputs = {"x"}; }), "leave its outputs out");
  has(refused([](Graph& g) { g.field("left", {2}); }), "declared twice");
  has(refused([](Graph& g) { g.field("targets", {}); }), "trainx reads that name itself");
  has(refused([](Graph& g) { g.field("empty", {0}); }), "at least 1");
  has(refused([](Graph& g) {
        g.modules[1].forward = [](const std::vector<at::Tensor>& x) { return x; };
        g.modules[1].inputs.push_back("left");
      }),
      "returns 3 tensors and has 2 outputs");
  has(refused([](Graph& g) {
        g.modules[2].loss = [](const std::vector<at::Tensor>& x) {
          return Loss{x[0].sum(1), at::full({}, 2)};
        };
      }),
      "it must be one number");
  has(refused([](Graph& g) {
        g.modules[2].loss = [](const std::vector<at::Tensor>& x) {
          return Loss{x[0].sum(), at::full({}, 2), {{"a b", x[0].sum()}}};
        };
      }),
      "metric 'a b'");
  architectures::CustomDims dims{{"long", "", {}}};
  define("long", towers);
  has(user_error_of([&] { measured(dims, 2, 4); }), "data.sequence_length: 1");
}

TEST_CASE("buffers that a module changes are one tensor for all blocks, begun by the seed") {
  define("counting", [] {
    auto modules = chain(false);
    const at::Tensor count = at::randn({1});
    modules[1].buffers.push_back({"count", count});
    modules[1].buffers.push_back({"constant", at::randn({2})});
    modules[1].forward = [count](const at::Tensor& x) { return count.add_(1), x * 1; };
    return modules;
  });
  Run first(dims_of("counting"), 3, 4);
  Run second(dims_of("counting"), 2, 4);  // measures, and so begins anew
  const auto& all = model::changing_buffers();
  REQUIRE(all.size() == 1);
  CHECK(all.begin()->first == "squash.count");
  model::changing_buffers().clear();
  auto dims = dims_of("counting");
  dims.shapes = {measured(dims, 2, 4)};
  CHECK(dims.shapes.front().modules[1].changing == std::vector<std::string>{"count"});
  model::changing_buffers().clear();
  second.blocks = model::build_blocks(dims, second.graph);
  const model::Blocks more = model::build_blocks(dims, second.graph);
  REQUIRE(all.size() == 1);
  model::begin_buffers(dims, 5);
  const at::Tensor begun = model::build_graph(dims, 5).modules[1].buffers[0].tensor;
  CHECK(at::equal(all.begin()->second, begun));
  second.fill_batch(false);
  second.run(false);
  CHECK(std::abs(all.begin()->second.item<float>() - begun.item<float>() - 1) <= 1e-6);
}

TEST_CASE("a measured module says whether it draws, and trainx::dropout does not") {
  const auto with = [](const std::string& name, double probability, bool keyed) {
    define(name, [=] {
      auto modules = chain(false);
      const auto training = std::make_shared<bool>(true);
      modules[1].set_training = [training](bool now) { *training = now; };
      modules[1].forward = [=](const at::Tensor& x) {
        return keyed ? trainx::dropout(x, probability, *training)
                     : at::dropout(x, probability, *training);
      };
      return modules;
    });
    const auto shape = measured(dims_of(name), 2, 4);
    std::vector<bool> draws;
    for (const auto& m : shape.modules) draws.push_back(m.draws);
    CHECK_FALSE(shape.on_gpu);
    CHECK(shape.not_captured.empty());
    return draws;
  };
  using Draws = std::vector<bool>;
  CHECK(with("drawing", 0.5, false) == Draws{false, true, false, false});
  CHECK(with("keyed", 0.5, true) == Draws(4, false));
  CHECK(with("never", 0, false) == Draws(4, false));
}

TEST_CASE("keyed dropout follows the key, the call and the sample alone") {
  const auto positions = [](std::vector<std::int64_t> at) { return at::tensor(at, at::kLong); };
  const at::Tensor x = at::randn({4, 3, 5});
  const tensor::RandomKey key{9, 2, 0};
  const auto drop = [&](const at::Tensor& of, std::vector<std::int64_t> at, int call = 0) {
    operations::DropoutScope scope(key, positions(std::move(at)));
    for (int before = 0; before < call; ++before) trainx::dropout(of, 0.5, true);
    return trainx::dropout(of, 0.5, true);
  };
  const at::Tensor whole = drop(x, {7, 8, 9, 10});
  CHECK(at::equal(drop(x, {7, 8, 9, 10}), whole));
  CHECK(at::equal(drop(x.narrow(0, 2, 2), {9, 10}), whole.narrow(0, 2, 2)));
  // with several rows for each sample
  CHECK(at::equal(drop(x.reshape({12, 5}), {7, 8, 9, 10}), whole.reshape({12, 5})));
  CHECK_FALSE(at::equal(drop(x, {7, 8, 9, 10}, 1), whole));
  CHECK_FALSE(at::equal(drop(x, {8, 9, 10, 11}), whole));
  // dropped or doubled
  CHECK(at::equal(whole, at::where(whole == 0, 0, 2 * x)));
  const double share =
      (drop(at::ones({1, 100'000}), {3}) == 0).to(at::kDouble).mean().item<double>();
  CHECK(std::abs(share - 0.5) <= 0.01);
  at::Tensor leaf = x.clone().requires_grad_(true);
  torch::autograd::backward({drop(leaf, {7, 8, 9, 10}).sum()});
  CHECK(at::equal(leaf.grad(), at::where(whole == 0, 0, at::full({}, 2))));
  CHECK(at::equal(trainx::dropout(x, 0.5, false), x));
  CHECK_THROWS_AS(trainx::dropout(x, 1.0, true), std::invalid_argument);
  CHECK_THROWS_AS(drop(x, {1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(drop(x, {1, 2, 3, 4}, 256), std::invalid_argument);
  operations::seed_generator(5);
  const at::Tensor outside = trainx::dropout(x, 0.5, true);
  operations::seed_generator(5);
  CHECK(at::equal(outside, at::dropout(x, 0.5, true)));
}

}  // namespace custom_test
