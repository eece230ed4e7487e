// Which products get operands in fp8, what is kept of them, and that programs still mean the same.
#include "graph/to_blocks.hpp"
#include "program/check.hpp"
#include "program/plain.hpp"
#include "architectures/architecture.hpp"
#include "architectures/bert.hpp"
#include "architectures/gpt2.hpp"
#include "support/catch.hpp"
#include <stdexcept>
#include <utility>

namespace quantize_products_test {

using namespace trainx;
using graph::Fp8Layers;
using operations::BoundOp;
using operations::Fp8Scaling;
using operations::Linear;
using operations::Quantize;
using program::Op;
using program::Role;

namespace {

const program::UpdateSpec momentum{{{"m"}}};

architectures::GraphOptions graph_options(Fp8Layers layers,
                                          Fp8Scaling scaling = Fp8Scaling::current) {
  architectures::GraphOptions m = architectures::GraphOptions::on_cpu(1);
  m.passes.fp8.layers = layers;
  m.passes.fp8.scaling = scaling;
  return m;
}

program::ModelGraph gpt2(Fp8Layers fp8, int layers = 4, DType compute = DType::f32,
                         Fp8Scaling scaling = Fp8Scaling::current) {
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = layers,
                                                         .num_heads = 2,
                                                         .hidden_size = 8,
                                                         .intermediate_size = 16,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 2, 4, compute, graph_options(fp8, scaling));
}

/// Norms follow the sums, so that products read values of other blocks.
program::ModelGraph bert(Fp8Layers fp8) {
  return architectures::graph_of(architectures::BertDims{.num_layers = 2,
                                                         .num_heads = 2,
                                                         .hidden_size = 8,
                                                         .intermediate_size = 16,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 2, 4, DType::bf16, graph_options(fp8));
}

/// Gated, without biases.
program::ModelGraph decoder(Fp8Layers fp8) {
  const architectures::ModelDims d = architectures::dims_from_config(
      R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
          "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8,
          "vocab_size": 9, "rms_norm_eps": 1e-6, "hidden_act": "silu"})",
      "config.json");
  return architectures::model_graph(d, 2, 4, DType::bf16, graph_options(fp8));
}

int count_of(const std::vector<BoundOp>& ops, bool fp8_linears) {
  int n = 0;
  for (const BoundOp& op : ops) {
    if (const auto* linear = std::get_if<Linear>(&op.operation)) n += fp8_linears && linear->fp8;
    n += !fp8_linears && std::holds_alternative<Quantize>(op.operation);
  }
  return n;
}

/// "name fp8 linears/casts" of each block that has some.
std::string fp8_of(const program::ModelGraph& graph) {
  std::string out;
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const auto& ops = graph.composition->blocks[b]->forward;
    const int linears = count_of(ops, true), casts = count_of(ops, false);
    if (linears + casts > 0)
      out += graph.blocks[b].name + " " + std::to_string(linears) + "/" + std::to_string(casts) +
             "\n";
  }
  return out;
}

std::string problem_of(const program::ModelGraph& graph, const program::StepProgram& p) {
  const program::Reference reference{&graph, momentum};
  return program::check_program(p, program::plan_memory(p), &reference);
}

/// Of forward's values for backward: those that are kept, by type and name.
std::string kept(const program::ModelGraph& graph, const std::string& block) {
  std::string out;
  for (const program::BlockSpec& b : graph.blocks)
    if (b.name == block)
      for (const program::SlotSpec& s : b.slots)
        if (s.role == Role::saved) out += std::string(name_of(s.tensor.dtype)) + " " + s.name + " ";
  return out;
}

}  // namespace

TEST_CASE("linear layers of blocks get operands in fp8, embedding and head do not") {
  CHECK(fp8_of(gpt2(Fp8Layers::off)).empty());
  CHECK(fp8_of(gpt2(Fp8Layers::all, 2)) ==
        "h0.attention 2/2\nh0.mlp 2/2\nh1.attention 2/2\nh1.mlp 2/2\n");
  CHECK(fp8_of(gpt2(Fp8Layers::inner)) ==
        "h1.attention 2/2\nh1.mlp 2/2\nh2.attention 2/2\nh2.mlp 2/2\n");
  CHECK(fp8_of(gpt2(Fp8Layers::inner, 2)).empty());
  CHECK(fp8_of(bert(Fp8Layers::all)) ==
        "h0.attention 2/2\nh0.mlp 2/2\nh1.attention 2/2\nh1.mlp 2/2\n");
}

TEST_CASE("layers that are alike still share one block") {
  const program::ModelGraph graph = gpt2(Fp8Layers::all, 5);
  for (std::size_t b = 5; b + 1 < graph.blocks.size(); ++b) {
    INFO(graph.blocks[b].name);
    CHECK(graph.composition->blocks[b] == graph.composition->blocks[b - 2]);
  }
}

TEST_CASE("backward keeps inputs in fp8 instead of the values that they were cast from") {
  CHECK(kept(gpt2(Fp8Layers::off), "h1.mlp").find("u8") == std::string::npos);
  const std::string mlp = kept(gpt2(Fp8Layers::all), "h1.mlp");
  INFO(mlp);
  CHECK(mlp.find("u8 normed_fp8 f32 normed_fp8_scale") != std::string::npos);
  CHECK(mlp.find("u8 activated_fp8 f32 activated_fp8_scale") != std::string::npos);
  CHECK(mlp.find("f32 preactivation") != std::string::npos);
  CHECK(mlp.find("f32 normed ") == std::string::npos);
  CHECK(mlp.find("f32 activated ") == std::string::npos);
}

TEST_CASE("programs with products in fp8 mean sequential training") {
  for (const program::ModelGraph& graph :
       {gpt2(Fp8Layers::all), gpt2(Fp8Layers::inner, 3, DType::bf16), bert(Fp8Layers::all),
        decoder(Fp8Layers::all)})
    CHECK(problem_of(graph, program::plain_program(graph, momentum)).empty());
}

TEST_CASE("products that are left out keep operands of the model, and the others their numbers") {
  const auto without = [](std::set<std::string> weights, Fp8Scaling scaling) {
    architectures::GraphOptions m = graph_options(Fp8Layers::all, scaling);
    m.passes.fp8.left_out = std::move(weights);
    return architectures::graph_of(architectures::Gpt2Dims{.num_layers = 3,
                                                           .num_heads = 2,
                                                           .hidden_size = 8,
                                                           .intermediate_size = 16,
                                                           .max_positions = 8,
                                                           .vocab_size = 9,
                                                           .dropout = 0},
                                   2, 4, DType::bf16, m);
  };
  const std::string qkv = "h.1.attn.c_attn.weight", up = "h.2.mlp.c_fc.weight";
  for (const Fp8Scaling scaling : {Fp8Scaling::current, Fp8Scaling::delayed}) {
    const program::ModelGraph all = without({}, scaling), some = without({qkv, up}, scaling);
    CHECK(fp8_of(some) ==
          "h0.attention 2/2\nh0.mlp 2/2\nh1.attention 1/1\nh1.mlp 2/2\nh2.attention 2/2\n"
          "h2.mlp 1/1\n");
    CHECK(problem_of(some, program::plain_program(some, momentum)).empty());
    const auto &before = all.composition->fp8_products, &now = some.composition->fp8_products;
    REQUIRE(before.size() == 3 * 4);
    REQUIRE(now.size() == before.size());
    for (std::size_t k = 0; k < now.size(); ++k) {
      CHECK(now[k].weight == before[k].weight);
      CHECK(now[k].block == before[k].block);
      CHECK(now[k].input == before[k].input);
      CHECK(now[k].number == before[k].number);
      CHECK_FALSE(before[k].left_out);
      CHECK(now[k].left_out == (now[k].weight == qkv || now[k].weight == up));
      // no other operation has the number of one that is left out
      for (const BoundOp& op :
           some.composition->blocks[static_cast<std::size_t>(now[k].block)]->forward)
        if (const auto* linear = std::get_if<Linear>(&op.operation);
            linear && linear->fp8 && now[k].left_out)
          CHECK(linear->fp8->number != now[k].number);
    }
    std::set<std::string> every;
    for (const graph::Fp8Product& p : before) every.insert(p.weight);
    const program::ModelGraph none = without(every, scaling);
    CHECK(fp8_of(none).empty());
    for (const program::ScalarSpec& s : none.scalars) CHECK(s.name != "fp8_counts");
    CHECK(problem_of(none, program::plain_program(none, momentum)).empty());
  }
  // names that the model has not change nothing
  CHECK(fp8_of(without({"head.weight"}, Fp8Scaling::current)) ==
        fp8_of(without({}, Fp8Scaling::current)));
}

TEST_CASE("the check misses no cast, scale or reader that a program leaves out") {
  const program::ModelGraph graph = gpt2(Fp8Layers::all, 2);
  const program::StepProgram whole = program::plain_program(graph, momentum);
  int left_out = 0;
  for (std::size_t k = 0; k < whole.steady.size(); ++k)
    for (std::size_t u = 0; u < whole.steady[k].uses.size(); ++u) {
      const program::Buffer& b =
          whole.buffers[static_cast<std::size_t>(whole.steady[k].uses[u].buffer)];
      if (b.role != Role::saved || b.name.find("_fp8") == std::string::npos) continue;
      program::StepProgram p = whole;
      p.steady[k].uses.erase(p.steady[k].uses.begin() + static_cast<std::ptrdiff_t>(u));
      INFO(name_of(p.steady[k].op) << " without " << b.name);
      CHECK_FALSE(problem_of(graph, p).empty());
      ++left_out;
    }
  // values and scale of four products a layer, written by forward and read by backward
  CHECK(left_out == 2 * 4 * 2 * 2);
}

TEST_CASE("a step counts the elements that it casts, by class of tensor, block and operand") {
  const auto dims = [](const program::ModelGraph& graph, std::string_view name) {
    for (const program::ScalarSpec& s : graph.scalars)
      if (s.name == name) return s.dims;
    return std::vector<std::int64_t>();
  };
  CHECK(dims(gpt2(Fp8Layers::off), "fp8_counts").empty());
  const program::ModelGraph current = gpt2(Fp8Layers::inner),
                            delayed = gpt2(Fp8Layers::inner, 4, DType::f32, Fp8Scaling::delayed);
  CHECK(dims(current, "fp8_counts") == std::vector<std::int64_t>{3, 10, 2, 4});
  CHECK(dims(current, "fp8_ranges").empty());
  CHECK(dims(delayed, "fp8_counts") == std::vector<std::int64_t>{3, 10, 2, 4 + 128});
  CHECK(dims(delayed, "fp8_ranges") == std::vector<std::int64_t>{3, 10, 2, 17});
  // operands are numbered within a block
  for (const program::ModelGraph* graph : {&current, &delayed})
    for (std::size_t b = 0; b < graph->blocks.size(); ++b) {
      int inputs = 0, linears = 0;
      for (const BoundOp& op : graph->composition->blocks[b]->forward) {
        if (const auto* cast = std::get_if<Quantize>(&op.operation))
          CHECK(cast->number == inputs++);
        if (const auto* linear = std::get_if<Linear>(&op.operation); linear && linear->fp8)
          CHECK(linear->fp8->number == linears++);
      }
    }
  // evaluation counts nothing
  for (const Op last : {Op::evaluate, Op::predict}) {
    const auto p =
        program::forward_program(program::plain_program(delayed, momentum), delayed, last);
    for (const program::Instruction& i : p.steady)
      for (const program::Use& u : i.uses)
        CHECK(p.buffers[static_cast<std::size_t>(u.buffer)].name != "fp8_counts");
  }
}

TEST_CASE("delayed scaling: ranges advance by a step's counts, and every cast reads them") {
  const program::ModelGraph graph = gpt2(Fp8Layers::all, 2, DType::f32, Fp8Scaling::delayed);
  const program::StepProgram whole = program::plain_program(graph, momentum);
  CHECK(problem_of(graph, whole).empty());
  int left_out = 0;
  for (std::size_t k = 0; k < whole.steady.size(); ++k)
    for (std::size_t u = 0; u < whole.steady[k].uses.size(); ++u) {
      const std::string& name =
          whole.buffers[static_cast<std::size_t>(whole.steady[k].uses[u].buffer)].name;
      if (name != "fp8_ranges" && name != "fp8_counts") continue;
      program::StepProgram p = whole;
      p.steady[k].uses.erase(p.steady[k].uses.begin() + static_cast<std::ptrdiff_t>(u));
      INFO(name_of(p.steady[k].op) << " without " << name);
      CHECK_FALSE(problem_of(graph, p).empty());
      ++left_out;
    }
  // both in forward and backward of four blocks, and in the advance; the report
  CHECK(left_out == 2 * 4 * 2 + 2 + 1);
}

TEST_CASE("scales of blocks: backward keeps a cast by columns of its own, with its scales") {
  for (const DType compute : {DType::f32, DType::bf16}) {
    const program::ModelGraph graph = gpt2(Fp8Layers::all, 3, compute, Fp8Scaling::blocks);
    CHECK(fp8_of(graph) == fp8_of(gpt2(Fp8Layers::all, 3)));
    CHECK(problem_of(graph, program::plain_program(graph, momentum)).empty());
    const std::string mlp = kept(graph, "h1.mlp");
    INFO(mlp);
    for (const std::string x : {"normed", "activated"})
      CHECK(mlp.find("u8 " + x + "_fp8_transposed f32 " + x + "_fp8_transposed_scale") !=
            std::string::npos);
    CHECK(mlp.find("normed_fp8 ") == std::string::npos);
    CHECK(mlp.find("normed_fp8_scale ") == std::string::npos);
  }
  const program::ModelGraph graph = gpt2(Fp8Layers::all, 2, DType::f32, Fp8Scaling::blocks);
  const program::StepProgram whole = program::plain_program(graph, momentum);
  int left_out = 0;
  for (std::size_t k = 0; k < whole.steady.size(); ++k)
    for (std::size_t u = 0; u < whole.steady[k].uses.size(); ++u) {
      const program::Buffer& b =
          whole.buffers[static_cast<std::size_t>(whole.steady[k].uses[u].buffer)];
      if (b.role != Role::saved || b.name.find("_fp8") == std::string::npos) continue;
      program::StepProgram p = whole;
      p.steady[k].uses.erase(p.steady[k].uses.begin() + static_cast<std::ptrdiff_t>(u));
      INFO(name_of(p.steady[k].op) << " without " << b.name);
      CHECK_FALSE(problem_of(graph, p).empty());
      ++left_out;
    }
  // the cast by columns and its scales of four products a layer, written and read
  CHECK(left_out == 2 * 4 * 2 * 2);
}

namespace {

program::ModelGraph gpt2_on_gpu(std::int64_t hidden, std::int64_t batch = 4, int layers = 2,
                                const std::vector<graph::ParameterRule>& rules = {},
                                Fp8Scaling scaling = Fp8Scaling::current) {
  architectures::GraphOptions gpu = architectures::GraphOptions::on_gpu();
  gpu.passes.fp8.layers = Fp8Layers::all;
  gpu.passes.fp8.scaling = scaling;
  gpu.passes.rules = rules;
  return architectures::graph_of(architectures::Gpt2Dims{.num_layers = layers,
                                                         .num_heads = 2,
                                                         .hidden_size = hidden,
                                                         .intermediate_size = 32,
                                                         .max_positions = 8,
                                                         .vocab_size = 9,
                                                         .dropout = 0},
                                 batch, 4, DType::bf16, gpu);
}

/// "name type dims": scratch for fp8 that an operation of a block works in.
std::string scratch_of(const program::ModelGraph& graph, const std::string& block,
                       const BoundOp& op) {
  std::string out;
  for (const program::BlockSpec& b : graph.blocks)
    if (b.name == block)
      for (const operations::Slot s : op.scratch) {
        if (s == program::none) continue;
        const program::SlotSpec& slot = b.slots[static_cast<std::size_t>(s)];
        if (slot.name.find("fp8") != std::string::npos)
          out += slot.name + " " + std::to_string(slot.tensor.elements()) + " ";
      }
  return out;
}

const BoundOp& last_linear(const std::vector<BoundOp>& ops) {
  for (std::size_t k = ops.size(); k-- > 0;)
    if (std::holds_alternative<Linear>(ops[k].operation)) return ops[k];
  throw std::logic_error("no linear operation");
}

}  // namespace

TEST_CASE("a GPU keeps inputs in fp8 transposed, as their weights' gradients read them") {
  const program::ModelGraph graph = gpt2_on_gpu(16);
  CHECK(graph.without_gpu_kernel.empty());
  CHECK(fp8_of(graph) == "h0.attention 2/2\nh0.mlp 2/2\nh1.attention 2/2\nh1.mlp 2/2\n");
  const std::string mlp = kept(graph, "h1.mlp");
  INFO(mlp);
  CHECK(mlp.find("f32 normed_fp8_scale u8 normed_fp8_transposed") != std::string::npos);
  CHECK(mlp.find("f32 activated_fp8_scale u8 activated_fp8_transposed") != std::string::npos);
  CHECK(mlp.find("u8 normed_fp8 ") == std::string::npos);
  CHECK(mlp.find("bf16 normed ") == std::string::npos);
  CHECK(problem_of(graph, program::plain_program(graph, momentum)).empty());
}

TEST_CASE("a GPU's products in fp8 have memory for the copies that each of them multiplies") {
  const program::ModelGraph graph = gpt2_on_gpu(16);
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    if (graph.blocks[b].name != "h1.mlp") continue;
    const auto& bound = *graph.composition->blocks[b];
    // c_proj: 16 tokens, 32 to 16; scratch is as large as the block's largest
    CHECK(scratch_of(graph, "h1.mlp", last_linear(bound.forward)) ==
          "fp8_weight 512 fp8_weight_scale 1 ");
    CHECK(scratch_of(graph, "h1.mlp", last_linear(bound.backward)) ==
          "fp8_weight_scale 1 fp8_gradient 512 fp8_gradient_scale 1 fp8_weight_transposed 512 "
          "fp8_gradient_transposed 512 ");
    for (const auto& [op, phase] : graph.blocks[b].phases)
      for (const program::Gemm& g : phase.gemms) CHECK(g.fp8);
    // x and weight of two products; weight and output gradient of two
    CHECK(graph.blocks[b].phases.at(Op::forward).launches_of(program::KernelFamily::quantize) == 8);
    CHECK(graph.blocks[b].phases.at(Op::backward).launches_of(program::KernelFamily::quantize) ==
          8);
  }
}

TEST_CASE("a GPU casts with scales that are known before in one kernel each") {
  const program::ModelGraph graph = gpt2_on_gpu(16, 4, 2, {}, Fp8Scaling::delayed);
  for (const program::BlockSpec& block : graph.blocks) {
    if (block.name != "h1.mlp") continue;
    for (const Op op : {Op::forward, Op::backward})
      CHECK(block.phases.at(op).launches_of(program::KernelFamily::quantize) == 4);
  }
}

TEST_CASE("scales of blocks have memory on a GPU, whose casts are one kernel each") {
  const program::ModelGraph graph = gpt2_on_gpu(160, 40, 2, {}, Fp8Scaling::blocks);
  CHECK(problem_of(graph, program::plain_program(graph, momentum)).empty());
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    if (graph.blocks[b].name != "h1.mlp") continue;
    const auto& bound = *graph.composition->blocks[b];
    // c_fc: 160 tokens, 160 to 32; c_proj back. A row of a weight's blocks has room for 4.
    CHECK(scratch_of(graph, "h1.mlp", last_linear(bound.forward)) ==
          "fp8_weight 5120 fp8_weight_scale 8 ");
    CHECK(scratch_of(graph, "h1.mlp", last_linear(bound.backward)) ==
          "fp8_gradient 25600 fp8_gradient_scale 320 fp8_weight_transposed 5120 "
          "fp8_gradient_transposed 25600 fp8_weight_transposed_scale 8 "
          "fp8_gradient_transposed_scale 320 ");
    CHECK(graph.blocks[b].phases.at(Op::forward).launches_of(program::KernelFamily::quantize) == 4);
    CHECK(graph.blocks[b].phases.at(Op::backward).launches_of(program::KernelFamily::quantize) ==
          4);
  }
  const program::ModelGraph frozen =
      gpt2_on_gpu(160, 40, 2, {{.pattern = "*mlp*", .trained = false}}, Fp8Scaling::blocks);
  CHECK(kept(frozen, "h1.mlp").find("transposed") == std::string::npos);
  CHECK(problem_of(frozen, program::plain_program(frozen, momentum)).empty());
}

TEST_CASE("a GPU multiplies in fp8 where all sizes are multiples of 16") {
  CHECK(fp8_of(gpt2_on_gpu(8)).empty());
  CHECK(fp8_of(gpt2_on_gpu(16, 3)).empty());  // 12 tokens
  CHECK(fp8_of(gpt2_on_gpu(16, 8)) == fp8_of(gpt2_on_gpu(16)));
  const program::ModelGraph graph = gpt2_on_gpu(24);
  CHECK(graph.without_gpu_kernel.empty());
  CHECK(fp8_of(graph).empty());
}

TEST_CASE("a GPU makes no transposed copy for weights that are not trained") {
  const program::ModelGraph graph = gpt2_on_gpu(16, 4, 2, {{.pattern = "*mlp*", .trained = false}});
  CHECK(kept(graph, "h1.mlp").find("transposed") == std::string::npos);
  CHECK(kept(graph, "h1.attention").find("normed_fp8_transposed") != std::string::npos);
  for (std::size_t b = 0; b < graph.blocks.size(); ++b)
    if (graph.blocks[b].name == "h1.mlp")
      CHECK(scratch_of(graph, "h1.mlp", last_linear(graph.composition->blocks[b]->backward)) ==
            "fp8_weight_scale 1 fp8_gradient 512 fp8_gradient_scale 1 fp8_weight_transposed 512 ");
  CHECK(problem_of(graph, program::plain_program(graph, momentum)).empty());
}

TEST_CASE("a GPU's casts compute GELU and its derivative, whose results are kept nowhere") {
  const program::ModelGraph graph = gpt2_on_gpu(16);
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const program::BlockSpec& block = graph.blocks[b];
    if (block.name != "h1.mlp") continue;
    for (const program::SlotSpec& s : block.slots) CHECK(s.name != "activated");
    const auto& forward = graph.composition->blocks[b]->forward;
    int activations = 0;
    for (const BoundOp& op : forward) {
      if (const auto* cast = std::get_if<Quantize>(&op.operation))
        activations += cast->activation == operations::Activation::gelu_tanh;
      if (const auto* linear = std::get_if<Linear>(&op.operation)) {
        CHECK(linear->input_activation == operations::Activation::none);
        if (linear->epilogue.is_in_casts()) CHECK(op.outputs[Linear::y] == program::none);
      }
    }
    CHECK(activations == 1);
    for (const Op op : {Op::forward, Op::backward}) {
      CHECK(block.phases.at(op).launches_of(program::KernelFamily::activation) == 0);
      CHECK(block.phases.at(op).launches_of(program::KernelFamily::column_sum) == 0);
    }
  }
  // where the layer behind it stays in bf16 it is as without fp8
  const program::ModelGraph frozen =
      gpt2_on_gpu(16, 4, 2, {{.pattern = "*mlp.c_fc*", .trained = false}});
  CHECK(problem_of(frozen, program::plain_program(frozen, momentum)).empty());
}

}  // namespace quantize_products_test
