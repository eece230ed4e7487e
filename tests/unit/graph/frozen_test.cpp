// Which gradients backward makes where some parameters are constants.
#include "core/error.hpp"
#include "graph/parameter_rules.hpp"
#include "graph/to_blocks.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "program/print.hpp"
#include "architectures/bert.hpp"
#include "architectures/decoder.hpp"
#include "architectures/gpt2.hpp"
#include "support/catch.hpp"
#include <set>

namespace frozen_test {

using namespace trainx;

namespace {

const program::UpdateSpec momentum{{{"m"}}};

architectures::GraphOptions frozen(const std::vector<std::string>& patterns, bool others = false,
                                   bool gpu = false) {
  architectures::GraphOptions graph_options = gpu ? architectures::GraphOptions::on_gpu()
                                                  : architectures::GraphOptions::on_cpu(1);
  if (others) graph_options.passes.rules.push_back({.pattern = "*", .trained = false});
  for (const std::string& p : patterns)
    graph_options.passes.rules.push_back({.pattern = p, .trained = others});
  return graph_options;
}

program::ModelGraph gpt2(const architectures::GraphOptions& graph_options, int layers = 2,
                         double dropout = 0) {
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = layers,
                                                         .num_heads = 2,
                                                         .hidden_size = 8,
                                                         .intermediate_size = 16,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = dropout},
                                 2, 4, DType::f32, graph_options);
}

program::ModelGraph bert(const architectures::GraphOptions& graph_options, architectures::Task task,
                         double dropout = 0) {
  architectures::BertDims d{.num_layers = 2,
                            .num_heads = 2,
                            .hidden_size = 8,
                            .intermediate_size = 16,
                            .max_positions = 8,
                            .vocab_size = 9,
                            .dropout = dropout};
  d.task = task;
  if (task == architectures::Task::classification) d.num_labels = 3;
  return architectures::graph_of(d, 2, 4, DType::f32, graph_options);
}

std::set<std::string> names_of(const program::ModelGraph& graph, bool trained_alone = false) {
  std::set<std::string> names;
  for (const auto& g : graph.groups)
    if (g.training.trained || !trained_alone)
      for (const auto& p : g.parameters) names.insert(p.name);
  return names;
}

/// Where gradients are made and used: "backward h1.mlp dresidual2 g.h1.mlp", by name.
std::string backward_of(const program::StepProgram& p, const program::ModelGraph& graph) {
  std::string out;
  for (const auto& i : p.steady) {
    if (i.op != program::Op::backward && i.op != program::Op::loss && i.op != program::Op::update)
      continue;
    out += std::string(name_of(i.op)) + " " +
           (i.op == program::Op::update ? graph.groups.at(static_cast<std::size_t>(i.group)).name
                                        : graph.blocks.at(static_cast<std::size_t>(i.block)).name);
    std::set<std::string> made;
    for (const auto& u : i.uses) {
      const auto& b = p.buffers[static_cast<std::size_t>(u.buffer)];
      if (i.op != program::Op::update && program::writes(u.how) &&
          (b.role == program::Role::gradient || b.role == program::Role::value_gradient))
        made.insert(b.name);
    }
    for (const std::string& name : made) out += " " + name;
    out += "\n";
  }
  return out;
}

std::string problem_of(const program::ModelGraph& graph, const program::UpdateSpec& update) {
  const program::StepProgram p = program::plain_program(graph, update);
  const program::Reference reference{&graph, update};
  return program::check_program(p, program::plan_memory(p), &reference);
}

std::int64_t products_of(const program::ModelGraph& graph) {
  std::int64_t n = 0;
  for (const auto& b : graph.blocks)
    for (const auto op : {program::Op::forward, program::Op::loss, program::Op::backward})
      if (const auto phase = b.phases.find(op); phase != b.phases.end())
        n += static_cast<std::int64_t>(phase->second.gemms.size());
  return n;
}

}  // namespace

TEST_CASE("a star stands for any characters of a name") {
  using graph::matches;
  CHECK(matches("*", ""));
  CHECK(matches("*.bias", "h.0.ln_1.bias"));
  CHECK(!matches("*.bias", "h.0.ln_1.bias.x"));
  CHECK(matches("h.1.*", "h.1.ln_1.bias"));
  CHECK(!matches("h.1.*", "h.10.ln_1.bias"));
  CHECK(matches("*ln_*.w*t", "h.0.ln_1.weight"));
  CHECK(matches("a*a*a", "aaa"));
  CHECK(!matches("a*a*a", "aa"));
  CHECK(!matches("", "wte.weight"));
  CHECK(matches("wte.weight", "wte.weight"));
}

TEST_CASE("backward ends below the lowest trained parameter, and updates are of what is trained") {
  const auto all = gpt2(frozen({})), upper = gpt2(frozen({"w*", "h.0.*"})),
             head = gpt2(frozen({"ln_f.*"}, true)), lower = gpt2(frozen({"h.0.*"}, true));
  CHECK(backward_of(program::plain_program(all, momentum), all) ==
        "loss head dresidual3 g.head g.wte\n"
        "backward h1.mlp dresidual2 g.h1.mlp\n"
        "backward h1.attention dresidual1 g.h1.attention\n"
        "backward h0.mlp dresidual0 g.h0.mlp\n"
        "backward h0.attention dresidual0 g.h0.attention\n"
        "backward embedding g.wpe g.wte\n"
        "update wte\nupdate wpe\nupdate h0.attention\nupdate h0.mlp\nupdate h1.attention\n"
        "update h1.mlp\nupdate head\n");
  CHECK(backward_of(program::plain_program(upper, momentum), upper) ==
        "loss head dresidual3 g.head\n"
        "backward h1.mlp dresidual2 g.h1.mlp\n"
        "backward h1.attention g.h1.attention\n"
        "update h1.attention\nupdate h1.mlp\nupdate head\n");
  CHECK(backward_of(program::plain_program(head, momentum), head) ==
        "loss head g.head\n"
        "update head\n");
  // the bias of a layer's MLP is added, and its gradient made, where the next layer begins
  CHECK(backward_of(program::plain_program(lower, momentum), lower) ==
        "loss head dresidual3\n"
        "backward h1.mlp dresidual2\n"
        "backward h1.attention dresidual1 g.h1.attention.2\n"
        "backward h0.mlp dresidual0 g.h0.mlp\n"
        "backward h0.attention g.h0.attention\n"
        "update h0.attention\nupdate h0.mlp\nupdate h1.attention.2\n");
}

TEST_CASE("programs are sound whichever parameter is trained alone, or frozen alone") {
  using architectures::Task;
  const auto models = std::vector<std::function<program::ModelGraph(architectures::GraphOptions)>>{
      [](const auto& m) { return gpt2(m); }, [](const auto& m) { return gpt2(m, 2, 0.1); },
      [](const auto& m) { return bert(m, Task::masked_lm); },
      [](const auto& m) { return bert(m, Task::masked_lm, 0.1); },
      [](const auto& m) { return bert(m, Task::classification, 0.1); }};
  for (const auto& model : models)
    for (const bool gpu : {false, true})
      for (const bool alone : {false, true})
        for (const std::string& name : names_of(model(frozen({})))) {
          CAPTURE(name, alone, gpu);
          const program::UpdateSpec update{{{"m"}}, program::Master::fp32};
          try {
            const auto graph = model(frozen({name}, alone, gpu));
            CHECK(names_of(graph, true).contains(name) == alone);
            CHECK(problem_of(graph, update) == "");
            const program::StepProgram p = program::plain_program(graph, update);
            for (const auto& b : p.buffers)
              if (b.role == program::Role::gradient || program::is_optimizer_state(b.role))
                CHECK(graph.groups.at(static_cast<std::size_t>(b.index)).training.trained);
            CHECK(products_of(graph) <= products_of(model(frozen({}, false, gpu))));
          } catch (const UserError& e) {  // one product's
            CHECK(e.code() == ExitCode::invalid_recipe);
          }
        }
}

TEST_CASE("settings of a parameter are those of the last rule that matches, key by key") {
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.rules = {{.pattern = "*", .lr_scale = 0.5, .weight_decay = 0.2},
                                {.pattern = "*.bias", .weight_decay = 0},
                                {.pattern = "h.0.*", .trained = false},
                                {.pattern = "h.0.ln_1.*", .trained = true, .lr_scale = 2}};
  const auto graph = gpt2(graph_options);
  for (const auto& g : graph.groups)
    for (const auto& p : g.parameters) {
      CAPTURE(p.name);
      const bool frozen = p.name.starts_with("h.0.") && !p.name.starts_with("h.0.ln_1."),
                 bias = p.name.ends_with(".bias");
      CHECK(g.training.trained == !frozen);
      if (frozen) continue;
      CHECK(g.training.lr_scale == (p.name.starts_with("h.0.ln_1.") ? 2 : 0.5));
      CHECK(p.decay == !bias);
      CHECK(g.training.weight_decay == (bias ? std::nullopt : std::optional(0.2)));
    }
  CHECK(problem_of(graph, momentum) == "");
}

TEST_CASE("layers that are trained alike share what executors walk, others do not") {
  const auto graph = gpt2(frozen({"w*", "h.0.*", "h.1.*", "h.2.*"}), 6);
  const auto& walked = graph.composition->blocks;
  // frozen below: blocks 1 to 6; trained: 7 to 12
  CHECK(walked.at(3) == walked.at(5));
  CHECK(walked.at(9) == walked.at(11));
  CHECK(walked.at(3) != walked.at(9));
  for (const std::size_t b : {0, 1, 2, 3, 4, 5, 6})
    CHECK(!graph.blocks[b].phases.contains(program::Op::backward));
}

}  // namespace frozen_test
