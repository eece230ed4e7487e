#include "plan/expected_kernels.hpp"
#include "architectures/architecture.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace expected_kernels_test {

using namespace trainx;

namespace {

struct Asked {
  std::string attention = "auto", length = "64", heads = "4";
};

facts::Facts facts_of_two_cores() {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{16} << 30;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  f.data.gives_targets = true;
  return f;
}

plan::RunPlan plan_of(
    const std::string& more, const std::string& model,
    const std::string& batch = "batch: {global_batch_size: 32, micro_batch_size: 8}\n",
    const Asked& asked = {}, const std::set<std::string>& fp8_fallback = {}) {
  return plan::make_run_plan(
      recipe::parse_recipe("model: {type: " + model + ", attention: " + asked.attention +
                               ", options: {num_layers: 3, num_heads: " + asked.heads +
                               ", hidden_size: 64, max_positions: " + asked.length +
                               ", vocab_size: 1000}}\ndata: {type: stories, sequence_length: " +
                               asked.length + "}\n" + batch + more,
                           "test")
          .recipe,
      facts_of_two_cores(), {.gpu = "h200", .fp8_fallback = fp8_fallback});
}

// What the program's instructions will launch, counted from what they write.
struct Launches {
  std::int64_t attention = 0, attention_backward = 0, products = 0, recomputed_products = 0,
               recomputed_norms = 0;
};
Launches launches_of(const plan::PlacedProgram& placed) {
  using program::Op;
  Launches out;
  for (const program::Instruction& i : placed.program.steady) {
    if (i.block < 0 ||
        (i.op != Op::forward && i.op != Op::recompute && i.op != Op::backward && i.op != Op::loss))
      continue;
    const auto& phases = placed.graph.blocks[static_cast<std::size_t>(i.block)].phases;
    const auto phase = phases.find(i.op == Op::recompute ? Op::forward : i.op);
    if (phase == phases.end()) continue;
    const auto& slots = placed.graph.blocks[static_cast<std::size_t>(i.block)].slots;
    // one launch for all that it writes
    out.recomputed_norms +=
        (i.op == Op::recompute || i.op == Op::backward) &&
        std::ranges::any_of(i.uses, [&](const program::Use& u) {
          const std::string& name = slots.at(static_cast<std::size_t>(std::max(u.slot, 0))).name;
          return u.how == program::How::overwrite &&
                 (name == "residual_out" || name == "mean" || name == "rstd" || name == "normed");
        });
    const auto writes = [&](program::Slot s) {
      return s == program::none || std::ranges::any_of(i.uses, [&](const program::Use& u) {
               return u.slot == s && u.how != program::How::read;
             });
    };
    if (phase->second.attention_flops > 0) {
      if (i.op == Op::backward)
        ++out.attention_backward;
      else
        out.attention += i.op == Op::forward || writes(phase->second.attention_output);
    }
    for (const auto& g : phase->second.gemms) {
      if (i.op != Op::recompute)
        out.products += g.count;
      else if (writes(g.output))
        out.recomputed_products += g.count;
    }
  }
  return out;
}

}  // namespace

TEST_CASE(
    "what is claimed of a step from the recipe is what its program does, for every way of keeping "
    "activations") {
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string level : {"none", "selective", "mlp", "full", "[full, mlp, none]"}) {
      CAPTURE(model, level);
      const auto plan =
          plan_of("memory: {activation_checkpoint: " + level + "}\nprecision: bf16\n", model);
      const plan::PlacedProgram& placed = plan.role().train.back();
      const auto expected = plan::expected_kernels(plan, placed.graph);
      const Launches seen = launches_of(placed);
      CHECK(expected.attention_forward == seen.attention);
      CHECK(expected.attention_backward == seen.attention_backward);
      CHECK(expected.attention_backward == 3 * 4);
      CHECK(expected.matrix_products == seen.products);
      CHECK(expected.products_recomputed == (seen.recomputed_products > 0));
      CHECK(expected.norms_recomputed == seen.recomputed_norms);
      // 6 blocks; BERT's first begins without a norm
      CHECK(expected.norms_recomputed ==
            4 * ((level == "none" ? 0 : (level[0] == '[' ? 4 : 6) - (model == "bert")) +
                 (model == "bert")));
      CHECK(expected.activation_checkpoint == level);
    }
}

TEST_CASE("what is claimed of a step of any decoder is what its program does") {
  std::size_t planned = 0;
  for (const auto& family : architectures::DecoderOptions::described())
    for (const std::string level : {"none", "selective", "mlp", "full"}) {
      CAPTURE(family.name, level);
      const auto plan =
          plan_of("memory: {activation_checkpoint: " + level + "}\nprecision: bf16\n", family.name);
      REQUIRE(plan.on_gpu);
      ++planned;
      const plan::PlacedProgram& placed = plan.role().train.back();
      const auto expected = plan::expected_kernels(plan, placed.graph);
      const Launches seen = launches_of(placed);
      CHECK(expected.attention_forward == seen.attention);
      CHECK(expected.attention_backward == seen.attention_backward);
      CHECK(expected.attention_backward == 3 * 4);
      CHECK(expected.matrix_products == seen.products);
      CHECK(expected.products_recomputed == (seen.recomputed_products > 0));
      CHECK(plan.memory.library_bytes > 0);
      CHECK(plan.time->step_s > 0);
    }
  CHECK(planned == 4 * architectures::DecoderOptions::described().size());
}

TEST_CASE(
    "what is claimed of a step holds where a part of the model is frozen, whichever it is and "
    "whatever is recomputed") {
  const auto groups = [](std::initializer_list<std::pair<const char*, bool>> all) {
    std::string list;
    for (const auto& [match, frozen] : all)
      list += std::string(list.empty() ? "" : ", ") + "{match: \"" + match +
              "\", freeze: " + (frozen ? "true" : "false") + "}";
    return "optimizer: {type: adamw, groups: [" + list + "]}\n";
  };
  const std::vector<std::string> of_gpt2{
      groups({{"w*", true}}),
      groups({{"w*", true}, {"h.0.*", true}, {"h.1.*", true}}),
      groups({{"h.1.*", true}, {"h.2.*", true}, {"ln_f.*", true}}),
      groups({{"*", true}, {"h.1.mlp.*", false}}),
      groups({{"*", true}, {"*.bias", false}}),
      groups({{"*", true}, {"h.*.ln_2.weight", false}}),
      groups({{"*", true}, {"h.1.attn.c_proj.weight", false}}),
      groups({{"*.bias", true}}),
      groups({{"*", true}, {"wpe.*", false}})};
  const std::vector<std::string> of_bert{
      groups({{"bert.embeddings.*", true}}), groups({{"*", true}, {"cls.*", false}}),
      groups({{"*", true}, {"bert.encoder.layer.1.output.*", false}}),
      groups({{"*.bias", true}, {"*LayerNorm*", true}})};
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string& frozen : model == "gpt2" ? of_gpt2 : of_bert)
      for (const std::string level : {"none", "selective", "mlp", "full", "[full, mlp, none]"}) {
        CAPTURE(model, level, frozen);
        const auto plan = plan_of(
            "memory: {activation_checkpoint: " + level + "}\nprecision: bf16\n" + frozen, model);
        const plan::PlacedProgram& placed = plan.role().train.back();
        const auto expected = plan::expected_kernels(plan, placed.graph);
        const Launches seen = launches_of(placed);
        CHECK(expected.attention_forward == seen.attention);
        CHECK(expected.attention_backward == seen.attention_backward);
        CHECK(expected.matrix_products == seen.products);
        CHECK(expected.products_recomputed == (seen.recomputed_products > 0));
        const auto all = plan_of("memory: {activation_checkpoint: " + level +
                                     "}\nprecision: bf16\noptimizer: {type: adamw}\n",
                                 model);
        CHECK(plan.memory.total_bytes() < all.memory.total_bytes());
        CHECK(plan::step_flops(placed) <= plan::step_flops(all.role().train.back()));
      }
}

TEST_CASE(
    "a head that computes rows with a target in turns does as many products as the batch takes "
    "turns") {
  const auto plan = plan_of("precision: bf16\n", "bert");
  const auto& graph = plan.role().train.back().graph;
  // micro-steps, of two forward products and four backward
  const std::int64_t declared = plan::expected_kernels(plan, graph).matrix_products,
                     of_a_turn = 4 * 6;
  REQUIRE(graph.target_chunk > 0);
  CHECK(plan::expected_kernels(plan, graph, graph.target_rows).matrix_products == declared);
  CHECK(plan::expected_kernels(plan, graph, 1).matrix_products == declared);
  CHECK(plan::expected_kernels(plan, graph, graph.target_chunk + 1).matrix_products ==
        declared + of_a_turn);
  CHECK(plan::expected_kernels(plan, graph, 3 * graph.target_chunk).matrix_products ==
        declared + 2 * of_a_turn);
}

TEST_CASE("the exact weights that are claimed are those of the recipe") {
  CHECK(plan::expected_kernels(plan_of("", "gpt2"), plan_of("", "gpt2").role().train.back().graph)
            .weights == "Fp32Weights");
  for (const auto& [precision, weights] : std::map<std::string, std::string>{
           {"{compute: bf16}", "SplitWeights"},
           {"{compute: bf16, master: fp32}", "MasterWeights"},
           {"{compute: bf16, master: split}", "SplitWeights"},
           {"{compute: bf16, master: none}", "Bf16Weights"},
           {"{compute: bf16, master: none, rounding: stochastic}", "StochasticWeights"}}) {
    const auto plan = plan_of("precision: " + precision + "\n", "gpt2");
    CHECK(plan::expected_kernels(plan, plan.role().train.back().graph).weights == weights);
  }
}

const std::string batch = "batch: {global_batch_size: 32, micro_batch_size: 8}\n";

TEST_CASE(
    "of attention by math are claimed two products forward and five backward, and no fused "
    "kernel") {
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string level : {"none", "full"}) {
      CAPTURE(model, level);
      const std::string more = "memory: {activation_checkpoint: " + level + "}\nprecision: bf16\n";
      const auto plan = plan_of(more + "run: {deterministic: true}\n", model),
                 math = plan_of(more, model, batch, {"math"});
      const auto fused = plan::expected_kernels(plan, plan.role().train.back().graph),
                 written = plan::expected_kernels(math, math.role().train.back().graph);
      CHECK(written.attention == AttentionKind::math);
      CHECK(written.attention_forward == 0);
      CHECK(written.attention_backward == 0);
      // micro-steps, layers
      CHECK(written.matrix_products == fused.matrix_products + 4 * 3 * (2 + 5));
    }
}

TEST_CASE("attention of any kind is planned for with all that it takes") {
  for (const std::string model : {"gpt2", "bert"}) {
    const auto bytes = [&](const std::string& kind, const std::string& length) {
      return plan_of("precision: bf16\n", model, batch, {kind, length}).memory;
    };
    // 8 samples, 4 heads: scores of 2 bytes before they are widened, and twice 4.
    const std::int64_t scores = std::int64_t{8} * 4 * 1024 * 1024;
    CHECK(bytes("math", "1024").library_bytes >= 10 * scores);
    CHECK(bytes("math", "1024").library_bytes <= 10 * scores + (std::int64_t{64} << 20));
    for (const char* kind : {"auto", "cudnn", "flash", "efficient"}) {
      CAPTURE(kind);
      CHECK(bytes(kind, "1024").library_bytes < 3 * scores);
    }
    CHECK(bytes("math", "1024").arena_bytes == bytes("auto", "1024").arena_bytes);
  }
}

TEST_CASE("attention that cannot be had here is refused with the reason, when it is planned") {
  const auto refusal = [](const std::string& more, const std::string& kind,
                          const std::string& heads = "4") {
    try {
      plan_of(more, "gpt2", batch, {kind, "64", heads});
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::invalid_recipe);
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string low = "precision: bf16\n";
  check_sentence("plan.expected_kernels/flash_in_32_bits", refusal("", "flash"));
  CHECK(refusal(low, "flash").empty());
  check_sentence("plan.expected_kernels/flash_heads", refusal(low, "flash", "16"));
  CHECK(refusal("", "math", "16").empty());
  CHECK(refusal("", "efficient").empty());
  CHECK(refusal("precision: tf32\n", "efficient").empty());
  CHECK(refusal("", "efficient", "16").empty());
  check_sentence("plan.expected_kernels/efficient_heads_in_evaluations",
                 refusal("eval: {precision: bf16}\n", "efficient", "16"));
}

TEST_CASE(
    "updates in backward are claimed one launch for each place where gradients become complete") {
  for (const std::string model : {"gpt2", "bert"}) {
    const std::string whole =
        "optimizer: {type: adamw, max_grad_norm: 0, update_in_backward: true}\nbatch: "
        "{global_batch_size: 32, micro_batch_size: 32}\n";
    const auto plan = plan_of(whole, model, "");
    std::int64_t runs = 0, updates = 0;
    const auto& steady = plan.role().train.back().program.steady;
    for (std::size_t k = 0; k < steady.size(); ++k) {
      updates += steady[k].op == program::Op::update;
      runs += steady[k].op == program::Op::update && steady[k - 1].op != program::Op::update;
    }
    CAPTURE(model, updates);
    CHECK(plan::expected_kernels(plan, plan.role().train.back().graph).update_launches == runs);
    CHECK(runs > 3);
    CHECK(plan::expected_kernels(plan_of("", model), plan_of("", model).role().train.back().graph)
              .update_launches == 0);
  }
}

TEST_CASE("most of what a step copies to the host is claimed from the recipe, and never more") {
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string level : {"none", "selective", "mlp"}) {
      const auto plan = plan_of(
          "memory: {activation_offload: cpu, activation_checkpoint: " + level + "}\n", model);
      const auto expected = plan::expected_kernels(plan, plan.role().train.back().graph);
      const std::int64_t copied = plan::offloaded_bytes(plan.role().train.back().program);
      CAPTURE(model, level, copied);
      CHECK(expected.offloaded_bytes <= copied);
      CHECK(expected.offloaded_bytes > copied / 3);
    }
}

namespace {

// What the program's instructions cast to fp8, counted from what they write.
std::int64_t casts_of(const plan::PlacedProgram& placed, bool blocks = false) {
  using program::Op;
  std::int64_t casts = 0;
  for (const program::Instruction& i : placed.program.steady) {
    if (i.op != Op::forward && i.op != Op::recompute && i.op != Op::backward) continue;
    const auto& block = placed.graph.blocks[static_cast<std::size_t>(i.block)];
    for (const program::Use& u : i.uses) {
      if (u.slot < 0 || u.how == program::How::read) continue;
      const std::string& name = block.slots[static_cast<std::size_t>(u.slot)].name;
      // each cast has a scale, and with scales of blocks a recomputed one those of the copy by
      // columns alone; backward's are scratch that operations share
      if (i.op != Op::backward &&
          name.ends_with(blocks && i.op == Op::recompute ? "_fp8_transposed_scale" : "_fp8_scale"))
        ++casts;
    }
    if (i.op == Op::backward) {
      casts += block.phases.at(Op::backward).launches_of(program::KernelFamily::quantize) /
               (blocks ? 1 : 2);
    } else {
      for (const program::ParameterCast& c : block.phases.at(Op::forward).parameter_casts)
        casts += std::ranges::any_of(i.uses, [&](const program::Use& u) {
          return u.slot == c.copy && u.how != program::How::read;
        });
    }
  }
  return casts;
}

}  // namespace

TEST_CASE("what is claimed of products and casts in fp8 is what the program does") {
  const std::string fp8 = "precision: {compute: bf16, products: fp8, small_products: fp8}\n";
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string level : {"none", "selective", "mlp", "full", "[full, mlp, none]"}) {
      CAPTURE(model, level);
      const auto plan = plan_of("memory: {activation_checkpoint: " + level + "}\n" + fp8, model);
      const plan::PlacedProgram& placed = plan.role().train.back();
      const auto expected = plan::expected_kernels(plan, placed.graph);
      CHECK(plan.on_gpu);
      // four linear layers in each of three, three products each, in four micro-steps
      CHECK(expected.fp8_products == 3 * 4 * 3 * 4);
      CHECK(expected.fp8_casts == casts_of(placed));
      // of four micro-steps inputs and output gradients; weights once
      if (level == "none") CHECK(expected.fp8_casts == 3 * 4 * (4 * 2 + 1));
      CHECK(expected.matrix_products == launches_of(placed).products);
    }
  // frozen weights are cast in no step, and have no gradient
  for (const std::string level : {"none", "full"}) {
    const auto plan = plan_of("memory: {activation_checkpoint: " + level +
                                  "}\noptimizer: {type: adamw, lr: 1e-3, groups: [{match: 'h.*', "
                                  "freeze: true}]}\n" +
                                  fp8,
                              "gpt2");
    const plan::PlacedProgram& placed = plan.role().train.back();
    const auto expected = plan::expected_kernels(plan, placed.graph);
    CHECK(expected.fp8_products == 3 * 4 * 2 * 4);
    CHECK(expected.fp8_casts == casts_of(placed));
    if (level == "none") CHECK(expected.fp8_casts == 3 * 4 * 4 * 2);
  }
  const auto inner = plan_of(
      "precision: {compute: bf16, products: fp8, small_products: fp8, first_last: compute}\n",
      "gpt2");
  CHECK(plan::expected_kernels(inner, inner.role().train.back().graph).fp8_products == 4 * 3 * 4);
  const auto without = plan_of("precision: bf16\n", "gpt2");
  CHECK(plan::expected_kernels(without, without.role().train.back().graph).fp8_products == 0);
  CHECK(plan::expected_kernels(without, without.role().train.back().graph).fp8_casts == 0);
}

TEST_CASE("casts before gathers are claimed of the parts that each rank has") {
  const std::string zero3 = "parallel: {mode: zero3, world_size: 2}\n";
  for (const std::string scaling : {"current", "delayed"}) {
    const auto plan =
        plan_of(zero3 + "precision: {compute: bf16, products: fp8, small_products: fp8, scaling: " +
                    scaling + "}\n",
                "gpt2");
    const plan::PlacedProgram& placed = plan.role().train.back();
    // queries, keys and values are three quarters of attention's weights: the first rank has a part
    // of them alone; the MLP's two are equal
    const auto casts_of_rank = [&](int rank) {
      return plan::expected_kernels(plan, placed.graph, 0, rank).fp8_casts;
    };
    // two micro-steps of a rank cast inputs and output gradients, a step its parts of weights
    CHECK(casts_of_rank(0) == 2 * 3 * 4 * 2 + 3 * (1 + 1));
    CHECK(casts_of_rank(1) == 2 * 3 * 4 * 2 + 3 * (2 + 1));
  }
  const auto blocks = plan_of(
      zero3 + "precision: {compute: bf16, products: fp8, small_products: fp8, scaling: blocks}\n",
      "gpt2");
  for (const program::GroupSpec& group : blocks.role().train.back().graph.groups)
    CHECK_FALSE(group.fp8);
}

TEST_CASE("casts with scales of blocks are claimed as what the program does") {
  const std::string fp8 =
      "precision: {compute: bf16, products: fp8, small_products: fp8, scaling: blocks}\n";
  for (const std::string model : {"gpt2", "bert"})
    for (const std::string level : {"none", "selective", "full"}) {
      INFO(model << " " << level);
      const auto plan = plan_of("memory: {activation_checkpoint: " + level + "}\n" + fp8, model);
      const plan::PlacedProgram& placed = plan.role().train.back();
      const auto expected = plan::expected_kernels(plan, placed.graph);
      CHECK(expected.fp8_blocks);
      CHECK(expected.fp8_products > 0);
      CHECK(expected.fp8_casts == casts_of(placed, true));
    }
  const auto blocks = plan_of(fp8, "gpt2");
  CHECK(blocks.rates->fp8_speedup == 1.6);
}

TEST_CASE("products that have fallen back are claimed in the model's type") {
  for (const std::string level : {"none", "full"}) {
    const std::string more = "memory: {activation_checkpoint: " + level +
                             "}\nprecision: {compute: bf16, products: fp8, small_products: fp8}\n";
    const auto all = plan_of(more, "gpt2"),
               some = plan_of(more, "gpt2", batch, {},
                              {"h.0.attn.c_attn.weight", "h.2.mlp.c_proj.weight"});
    const plan::PlacedProgram& placed = some.role().train.back();
    const auto expected = plan::expected_kernels(some, placed.graph);
    CHECK(expected.fp8_products == (3 * 4 - 2) * 3 * 4);
    CHECK(expected.fp8_casts == casts_of(placed));
    CHECK(expected.matrix_products == launches_of(placed).products);
    CHECK(expected.matrix_products ==
          plan::expected_kernels(all, all.role().train.back().graph).matrix_products);
  }
}

TEST_CASE("products in fp8 are predicted to be faster than those in bf16") {
  const auto fp8 = plan_of("precision: {compute: bf16, products: fp8, small_products: fp8}\n",
                           "gpt2"),
             bf16 = plan_of("precision: bf16\n", "gpt2");
  REQUIRE(fp8.time.has_value());
  CHECK(fp8.rates->fp8_speedup == 1.8);
  CHECK(fp8.time->gemm_s < bf16.time->gemm_s);
  CHECK(fp8.time->gemm_s > bf16.time->gemm_s / 1.8);  // the head's stay
}

}  // namespace expected_kernels_test
