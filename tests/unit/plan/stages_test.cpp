#include "plan/stages.hpp"
#include "core/error.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/explain/schedule_table.hpp"
#include "plan/run_plan.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/user_error.hpp"
#include <algorithm>
#include <cmath>
#include <set>

namespace stages_test {

using namespace trainx;

namespace {

plan::RunPlan plan_of(const std::string& parallel, const std::string& more = "", int layers = 6) {
  const std::string text =
      "model: {type: llama, options: {num_layers: " + std::to_string(layers) +
      ", num_heads: 2, num_key_value_heads: 2, hidden_size: 32, intermediate_size: 64, "
      "max_positions: 16, vocab_size: 256}}\ndata: {type: stories, sequence_length: 16}\n" +
      (more.starts_with("batch:")
           ? more
           : "batch: {global_batch_size: 16, micro_batch_size: 1}\n" + more) +
      "parallel: {" + parallel + "}\n";
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = std::int64_t{8} << 30;
  f.hardware.local_ranks = 8;
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, f);
}

const program::ModelGraph& graph_of(const plan::RunPlan& plan) {
  return plan.role().train.back().graph;
}

}  // namespace

TEST_CASE("blocks are cut between layers, into chunks that take nearly as long") {
  for (const int stages : {2, 3, 4, 6, 8}) {
    const plan::RunPlan plan =
        plan_of("pipeline: " + std::to_string(stages) + ", world_size: " + std::to_string(stages));
    const program::ModelGraph& graph = graph_of(plan);
    const program::PipelineCut cut = plan::pipeline_cut(plan, graph);
    CAPTURE(stages);
    REQUIRE(cut.chunk_of_block.size() == graph.blocks.size());
    CHECK(std::ranges::is_sorted(cut.chunk_of_block));
    CHECK(cut.chunk_of_block.front() == 0);
    CHECK(cut.chunk_of_block.back() == stages - 1);
    for (std::size_t b = 1; b < graph.blocks.size(); ++b) {
      CHECK(cut.chunk_of_block[b] - cut.chunk_of_block[b - 1] <= 1);
      if (graph.blocks[b].layer == graph.blocks[b - 1].layer)
        CHECK(cut.chunk_of_block[b] == cut.chunk_of_block[b - 1]);
    }
    std::vector<int> layers(static_cast<std::size_t>(stages));
    for (std::size_t b = 0; b < graph.blocks.size(); ++b)
      if (graph.blocks[b].layer != program::none &&
          (b == 0 || graph.blocks[b].layer != graph.blocks[b - 1].layer))
        ++layers[static_cast<std::size_t>(cut.chunk_of_block[b])];
    // the embedding and the head are as large as layers here: stages with them have fewer
    CHECK(std::ranges::max(layers) <= (6 + stages - 1) / stages + 1);
  }
}

TEST_CASE("layers that are recomputed together are of one stage") {
  const plan::RunPlan plan =
      plan_of("pipeline: 3, world_size: 3",
              "memory: {activation_checkpoint: full, recompute_segment: 2}\n");
  const program::ModelGraph& graph = graph_of(plan);
  const program::PipelineCut cut = plan::pipeline_cut(plan, graph);
  for (std::size_t b = 1; b < graph.blocks.size(); ++b)
    if (const int layer = graph.blocks[b].layer; layer != program::none && layer % 2 == 1)
      CHECK(cut.chunk_of_block[b] == cut.chunk_of_block[b - 1]);
}

TEST_CASE("stages together expect the kernels of one rank") {
  const std::string levels =
      "memory: {activation_checkpoint: [full, full, selective, none, full, none]}\n";
  const plan::RunPlan one = plan_of("world_size: 1", levels),
                      two = plan_of("pipeline: 2, world_size: 2", levels),
                      chunks = plan_of(
                          "pipeline: 2, world_size: 2, pipeline_schedule: interleaved, "
                          "pipeline_chunks: 3",
                          levels);
  const plan::ExpectedKernels all = plan::expected_kernels(one, graph_of(one));
  for (const plan::RunPlan* plan : {&two, &chunks}) {
    plan::ExpectedKernels sum;
    for (const plan::RankRole& role : plan->program_set.roles) {
      const plan::ExpectedKernels of_stage =
          plan::expected_kernels(*plan, role.train.back().graph, 0, role.first_rank, role);
      CHECK(of_stage.attention_forward > 0);
      CHECK(of_stage.attention_forward < all.attention_forward);
      CHECK(of_stage.summed.empty());
      sum.attention_forward += of_stage.attention_forward;
      sum.attention_backward += of_stage.attention_backward;
      sum.matrix_products += of_stage.matrix_products;
      sum.norms_recomputed += of_stage.norms_recomputed;
    }
    CHECK(sum.attention_forward == all.attention_forward);
    CHECK(sum.attention_backward == all.attention_backward);
    CHECK(sum.matrix_products == all.matrix_products);
    CHECK(sum.norms_recomputed == all.norms_recomputed);
  }
}

TEST_CASE("each stage keeps its own groups, and what others keep it knows") {
  const plan::RunPlan plan = plan_of("pipeline: 4, world_size: 8, mode: zero1");
  const std::size_t groups = graph_of(plan).groups.size();
  REQUIRE(plan.program_set.roles.size() == 4);
  for (const plan::RankRole& role : plan.program_set.roles) {
    const plan::PlacedProgram& placed = role.train.front();
    std::set<int> here, elsewhere;
    for (const program::Buffer& b : placed.program.buffers)
      if (b.resident && is_of_group(b)) here.insert(b.index);
    for (const plan::KeptElsewhere& kept : placed.elsewhere) {
      elsewhere.insert(kept.buffer.index);
      CHECK(kept.stage != role.stage);
      CHECK(kept.stage == placed.stage_of_group[static_cast<std::size_t>(kept.buffer.index)]);
    }
    CHECK(here.size() < groups);
    CHECK(here.size() + elsewhere.size() == groups);
    for (const int group : here) CHECK_FALSE(elsewhere.contains(group));
  }
}

TEST_CASE("fewer micro-steps than stages are warned of, with what they cost") {
  const plan::RunPlan few = plan_of("pipeline: 4, world_size: 4", "", 6),
                      one = plan_of("world_size: 1");
  CHECK(plan::idle_stages_warning(few).empty());  // 16 micro-steps
  CHECK(plan::idle_stages_warning(one).empty());
  plan::Draft two = few;
  two.batch.grad_accum_steps = 2;
  check_sentence("plan.stages/idle", plan::idle_stages_warning(two));
  CHECK(std::abs(plan::pipeline_idle_share(two) - 3.0 / 5) < 1e-12);
}

TEST_CASE("a schedule is a line for each stage, and a column for as long as a forward takes") {
  const plan::RunPlan plan =
      plan_of("pipeline: 2, world_size: 4", "batch: {global_batch_size: 6, micro_batch_size: 1}\n");
  check_sentence("plan.stages/schedule", plan::schedule_table(plan));
  const plan::RunPlan chunks =
      plan_of("pipeline: 2, world_size: 2, pipeline_schedule: interleaved, pipeline_chunks: 2");
  const std::string table = plan::schedule_table(chunks, 8);
  CHECK(table.find("a0") != std::string::npos);
  CHECK(table.find("columns more") != std::string::npos);
  const auto json = plan::schedule_json(chunks);
  REQUIRE(json.size() == 2);
  for (const auto& stage : json) CHECK(stage.at("turns").size() == 2 * 2 * 16);
  CHECK(plan::schedule_table(plan_of("world_size: 2")).empty());
}

TEST_CASE("a plan tells of each stage what it computes and takes") {
  const plan::RunPlan plan = plan_of("pipeline: 3, world_size: 3");
  const auto json = plan::to_json(plan, false);
  const auto& stages = json.at("pipeline").at("stages");
  REQUIRE(stages.size() == 3);
  for (std::size_t s = 0; s < 3; ++s) {
    CHECK(stages[s].at("memory_bytes") == plan.program_set.roles[s].memory.total_bytes());
    CHECK(stages[s].at("first_rank") == s);
  }
  CHECK(json.at("pipeline").at("idle_share").get<double>() > 0);
  CHECK_FALSE(plan::to_json(plan_of("world_size: 2"), false).contains("pipeline"));
  // each rank computes a third of the model's products
  const plan::RunPlan one = plan_of("world_size: 1");
  CHECK(std::abs(plan.flops_per_token() / one.flops_per_token() - 1) < 1e-12);
}

TEST_CASE("a pipeline that cannot be is refused") {
  const auto code_of = [](const std::string& parallel, const std::string& more = "") {
    try {
      plan_of(parallel, more);
    } catch (const UserError& refused) { return refused.code(); }
    return ExitCode::ok;
  };
  CHECK(code_of("pipeline: 8, world_size: 8") == ExitCode::ok);
  CHECK(code_of("pipeline: 16, world_size: 16") == ExitCode::invalid_recipe);
  CHECK(code_of("pipeline: 3, world_size: 4") == ExitCode::invalid_recipe);
  CHECK(code_of("pipeline: 2, world_size: 4, mode: zero1") == ExitCode::ok);
  CHECK(code_of("pipeline: 2, world_size: 2, mode: zero1") == ExitCode::invalid_recipe);
  CHECK(code_of("pipeline: 4, world_size: 4, pipeline_schedule: interleaved, pipeline_chunks: 3") ==
        ExitCode::invalid_recipe);
  CHECK(code_of("pipeline: 3, world_size: 3, pipeline_schedule: interleaved, pipeline_chunks: 2") ==
        ExitCode::invalid_recipe);  // 16 micro-steps
}

TEST_CASE("evaluation in another type has the layers of training on each stage") {
  for (const char* chunks : {"", ", pipeline_schedule: interleaved, pipeline_chunks: 2"}) {
    const plan::RunPlan plan =
        plan_of(std::string("pipeline: 2, world_size: 2") + chunks, "eval: {precision: bf16}\n", 4);
    for (const plan::RankRole& role : plan.program_set.roles) {
      const auto residents = [](const program::StepProgram& p) {
        std::vector<std::string> names;
        for (const program::Buffer& b : p.buffers)
          if (b.resident) names.push_back(b.name);
        return names;
      };
      REQUIRE_FALSE(role.evaluate.empty());
      CHECK(residents(role.evaluate.back().program) == residents(role.train.back().program));
    }
  }
}

TEST_CASE("what is asked of fewer micro-steps goes with the schedule") {
  const plan::RunPlan interleaved = plan_of(
                          "pipeline: 4, world_size: 4, pipeline_schedule: interleaved, "
                          "pipeline_chunks: 2"),
                      plain = plan_of("pipeline: 4, world_size: 4");
  CHECK(plan::least_micro_steps(interleaved) == 4);
  CHECK(plan::least_micro_steps(plain) == 1);
  // a run that does not fit is refused for its memory, not for the micro-steps of an attempt
  CHECK(user_error_of([] {
          plan_of("pipeline: 2, world_size: 2, pipeline_schedule: interleaved, pipeline_chunks: 2",
                  "memory: {budget: 100 KiB}\n");
        }).starts_with("71: "));
}

}  // namespace stages_test
