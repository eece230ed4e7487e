// The search takes no more than what was found by hand, and than what its own advice names.
#include "core/error.hpp"
#include "plan/choose/search.hpp"
#include "plan/explain/advice.hpp"
#include "plan/explain/alternatives.hpp"
#include "plan/explain/needless.hpp"
#include "plan/run_plan.hpp"
#include "recipe/recipe.hpp"
#include "search/cases.hpp"
#include "support/catch.hpp"
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

namespace search_test {

using namespace trainx;

namespace {

facts::Facts some_facts(std::int64_t local_ranks) {
  facts::Facts f;
  f.hardware.cpu_cores = 8;
  f.hardware.memory_bytes = std::int64_t{512} << 30;
  f.hardware.local_ranks = local_ranks;
  f.data = {true, true, 100'000, 1'000, 0, {}, ""};
  return f;
}

/// `more`: maps of the recipe, a line each.
plan::RunPlan planned(const std::string& model, const std::string& gpu, const std::string& more,
                      std::int64_t ranks = 1) {
  const std::string text = "model: " + model + "\noptimizer: {type: adamw}\n" + more +
                           "parallel: {world_size: " + std::to_string(ranks) + "}\n";
  return plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(ranks),
                             {.gpu = gpu});
}

std::string data(std::int64_t length, const std::string& precision) {
  return "data: {type: stories, sequence_length: " + std::to_string(length) +
         "}\nprecision: " + precision + "\n";
}

/// Advice that leaves the numbers of a run as they are, and that names something faster.
std::string advice_of(const plan::RunPlan& plan) {
  std::string text;
  for (const plan::Advice& a : plan::advise(plan))
    if (!a.changes_training) text += a.settings.front().key + " ";
  for (const plan::Needless& n : plan::needless_levers(plan)) text += n.key + " ";
  return text;
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& l : lines) text += l + "\n";
  return text;
}

std::uint64_t seed() {
  const char* draw = std::getenv("TRAINX_DRAW");
  return draw ? std::hash<std::string>{}(draw) % 1'000'000 : 1;
}

}  // namespace

TEST_CASE("memory.fit takes no more time than what was found by hand, and fits") {
  const std::string
      llama = "{type: llama, size: 8b}",
      bert = "{type: bert, size: large, options: {mask_token: 103, special_tokens: [101, 102]}}",
      long_rows = data(4096, "bf16");
  struct Row {
    std::string name, model, gpu, more, batch, memory;
    std::int64_t ranks = 1;
    std::string by_hand_batch, by_hand;  // of batch and memory
  };
  const std::vector<Row> rows{
      {"Llama 8B on one RTX 3090", llama, "rtx3090", long_rows, "global_batch_size: 4", "fit: true",
       1, "global_batch_size: 4, micro_batch_size: 4",
       "activation_checkpoint: full, optimizer_offload: cpu, parameter_offload: cpu"},
      {"Llama 8B on two RTX 4090", llama, "rtx4090", long_rows, "global_batch_size: 64",
       "fit: true", 2, "global_batch_size: 64, micro_batch_size: 4",
       "activation_checkpoint: full, activation_offload: cpu, optimizer_offload: cpu, "
       "parameter_offload: cpu"},
      {"Llama 8B on one H100", llama, "h100", long_rows, "global_batch_size: 64", "fit: true", 1,
       "global_batch_size: 64, micro_batch_size: 1", "optimizer_offload: cpu"},
      {"BERT-large in 5.5 GiB", bert, "h200", data(512, "fp32"), "global_batch_size: 4",
       "fit: true, budget: 5632 MiB", 1, "global_batch_size: 4, micro_batch_size: 4",
       "budget: 5632 MiB, optimizer_offload: cpu"},
  };
  for (const Row& row : rows) {
    const auto of = [&](const std::string& batch, const std::string& memory,
                        const std::string& mode) {
      return planned(row.model, row.gpu,
                     row.more + "batch: {" + batch + "}\nmemory: {" + memory + "}\n" + mode,
                     row.ranks);
    };
    const auto chosen = of(row.batch, row.memory, ""),
               by_hand = of(row.by_hand_batch, row.by_hand, "");
    INFO(row.name << "\n" << all_of(chosen.choices));
    CAPTURE(chosen.time->step_s, by_hand.time->step_s, chosen.memory.total_bytes(),
            by_hand.memory.total_bytes());
    CHECK(chosen.memory.total_bytes() <= chosen.memory.budget_bytes);
    CHECK(chosen.time->step_s <= 1.01 * by_hand.time->step_s);
    CHECK(advice_of(chosen) == "");
  }
}

TEST_CASE("parallel.mode auto takes no more time than modes found by hand") {
  const auto of = [](const std::string& gpu, const std::string& batch, const std::string& mode) {
    const std::string text = "model: {type: llama, size: 8b}\noptimizer: {type: adamw}\n" +
                             data(4096, "bf16") + "batch: {global_batch_size: 64" + batch +
                             "}\nparallel: {world_size: 8" + mode + "}\n";
    return plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(8),
                               {.gpu = gpu});
  };
  const auto chosen = of("a100", "", "");
  INFO(all_of(chosen.choices));
  CHECK(chosen.memory.total_bytes() <= chosen.memory.budget_bytes);
  for (const char* mode : {"zero2", "zero3"}) {
    const auto by_hand = of("a100", ", micro_batch_size: 2", std::string(", mode: ") + mode);
    CAPTURE(mode, chosen.time->step_s, by_hand.time->step_s);
    CHECK(chosen.time->step_s <= 1.011 * by_hand.time->step_s);
  }
  // one mode is taken for its time, too: of the same cut of the batch
  const auto same_cut = of("h200", ", micro_batch_size: 1", "");
  for (const char* mode : {"ddp", "zero1", "zero2", "zero3"}) {
    const auto by_hand = of("h200", ", micro_batch_size: 1", std::string(", mode: ") + mode);
    CAPTURE(mode, same_cut.time->step_s, by_hand.time->step_s);
    CHECK(same_cut.time->step_s <= 1.011 * by_hand.time->step_s);
  }
}

TEST_CASE("what memory.fit takes is not slower than what its advice names") {
  for (const auto& [model, budget] :
       {std::pair{
            "{type: bert, size: base, options: {mask_token: 103, special_tokens: [101, 102]}}",
            "1500 MiB"},
        std::pair{"{type: gpt2, size: 124m}", "2000 MiB"},
        std::pair{"{type: llama, size: 8b}", "40 GiB"}}) {
    const auto plan = planned(model, "h200",
                              data(512, "bf16") + "batch: {global_batch_size: 16}\nmemory: " +
                                  "{fit: true, budget: " + budget + "}\n");
    INFO(model << " in " << budget << "\n" << all_of(plan.choices));
    CHECK(advice_of(plan) == "");
    CHECK(all_of(plan.choices).find("costs -") == std::string::npos);
  }
}

TEST_CASE("a refusal names a way that fits, and no lever that cannot help") {
  const auto refusal = [](const std::string& memory) -> std::string {
    try {
      planned("{type: llama, size: 8b}", "h100",
              data(4096, "bf16") + "batch: {global_batch_size: 64}\nmemory: {" + memory + "}\n");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::out_of_memory);
      return e.what();
    }
    return "";
  };
  const std::string written = refusal("fit: false");
  INFO(written);
  CHECK(written.find("memory.optimizer_offload cpu") != std::string::npos);
  CHECK(written.find("memory.fit: true") != std::string::npos);
  CHECK(written.find("micro_batch_size") == std::string::npos);
  CHECK(written.find("adamw_8bit") != std::string::npos);
  // nothing fits: the block that is too large
  const std::string tiny = refusal("fit: true, budget: 1 GiB");
  INFO(tiny);
  CHECK(tiny.find("memory.fit: true") == std::string::npos);
  CHECK(tiny.find("batch.micro_batch_size 1") != std::string::npos);
}

TEST_CASE("deep models on many ranks are searched to the end") {
  const std::string model =
      "{type: llama, options: {num_layers: 200, hidden_size: 4096, num_heads: 32, "
      "num_key_value_heads: 8, intermediate_size: 14336}}";
  const std::string text = "model: " + model + "\noptimizer: {type: adamw}\n" + data(4096, "bf16") +
                           "batch: {global_batch_size: 8000}\nmemory: {fit: true}\n"
                           "parallel: {world_size: 1000}\n";
  const auto plan = plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(8),
                                        {.gpu = "h100"});
  INFO(all_of(plan.choices));
  CHECK(plan.memory.total_bytes() <= plan.memory.budget_bytes);
  CHECK(plan.zero_stage() > 0);
}

TEST_CASE("a search weighs few choices of a deep model whole, and as few of a deeper one") {
  for (const int layers : {48, 200, 500}) {
    const std::string text =
        "model: {type: llama, options: {num_layers: " + std::to_string(layers) +
        ", hidden_size: 4096, num_heads: 32, num_key_value_heads: 8, intermediate_size: 14336}}\n" +
        "optimizer: {type: adamw}\n" + data(4096, "bf16") +
        "batch: {global_batch_size: 8000}\nmemory: {budget: 1000 TiB}\n" +
        "parallel: {world_size: 1000, mode: ddp}\n";
    auto problem = plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(8),
                                       {.gpu = "h100"});
    problem.recipe.parallel.mode = {};
    problem.recipe.batch.micro_batch_size = {};
    const std::int64_t budget = std::int64_t{79} << 30;
    plan::Evaluator evaluator(problem, &*problem.step_rates);
    plan::Search search(evaluator, {budget, 0});
    const auto found = search.find(plan::space_of(problem, plan::Freedom::to_fit, 8));
    CAPTURE(layers, evaluator.weighed());
    CHECK(evaluator.weighed() <= 16);
    REQUIRE(found.best());
    CHECK(found.best()->takes.bytes <= budget);
  }
}

namespace {

/// A deep GPT-2 of long rows on one GPU, which fits it; the micro-batch is open.
plan::RunPlan deep(int layers, int global_batch_size) {
  const std::string text = "model: {type: gpt2, options: {num_layers: " + std::to_string(layers) +
                           ", hidden_size: 768, num_heads: 4, max_positions: 65536}}\n" +
                           "optimizer: {type: adamw}\n" + data(65536, "bf16") +
                           "batch: {global_batch_size: " + std::to_string(global_batch_size) +
                           "}\nmemory: {budget: 1000 TiB}\n";
  auto problem = plan::make_run_plan(recipe::parse_recipe(text, "test").recipe, some_facts(1),
                                     {.gpu = "h100"});
  problem.recipe.batch.micro_batch_size = {};
  return problem;
}

}  // namespace

TEST_CASE("where nothing fits one micro-batch is weighed whole for each place on the host") {
  const plan::RunPlan problem = deep(96, 40320);
  plan::Evaluator evaluator(problem, &*problem.step_rates);
  plan::Search search(evaluator, {std::int64_t{2} << 30, 0});
  const plan::Space space = plan::space_of(problem, plan::Freedom::any, 1);
  REQUIRE(space.micro_batch_sizes.size() > 50);
  const auto found = search.find(space);
  CAPTURE(evaluator.weighed());
  CHECK(!found.best());
  // the whole batch at once is weighed too
  CHECK(evaluator.weighed() <= 2 * space.on_host.size());
}

TEST_CASE("without times no micro-batch is weighed whole where an estimate rules it out") {
  const plan::RunPlan problem = deep(96, 40320);
  plan::Evaluator evaluator(problem, nullptr);
  plan::Search search(evaluator, {std::int64_t{2} << 30, 0});
  plan::Space space = plan::space_of(problem, plan::Freedom::any, 1);
  space.on_host = {{}};
  space.depth.reset();
  CHECK(!search.find(space).best());
  CHECK(evaluator.weighed() <= 2);
  space.micro_batch_sizes.resize(1);
  CHECK(!search.find(space).best());
}

TEST_CASE("a micro-batch that fits by segments of layers alone is found") {
  const plan::RunPlan problem = deep(500, 12);
  plan::Evaluator evaluator(problem, &*problem.step_rates);
  plan::Space space = plan::space_of(problem, plan::Freedom::any, 1);
  space.on_host = {{}};
  for (const std::int64_t micro : {1, 6}) {
    plan::Decisions choice = space.written;
    choice.micro_batch_size = micro;
    space.depth->write(space.depth->whole(), choice);
    const std::int64_t by_levels = evaluator.memory_of(choice).bytes;
    space.depth->write(space.depth->most(), choice);
    const std::int64_t budget = evaluator.memory_of(choice).bytes;
    CAPTURE(micro, budget, by_levels);
    REQUIRE(budget < by_levels);
    plan::Search search(evaluator, {budget, 0});
    const auto found = search.find(space);
    REQUIRE(found.best());
    CHECK(found.best()->takes.bytes <= budget);
    if (micro == 1) CHECK(found.best()->choice.segment > 1);
  }
}

TEST_CASE("alternatives are the plan and other ways that fit, each told by what differs") {
  const auto plan = planned("{type: gpt2, size: 350m}", "h200",
                            data(1024, "bf16") +
                                "batch: {global_batch_size: 64}\nmemory: {budget: 10 GiB, fit: "
                                "true}\n",
                            2);
  const auto all = plan::alternatives(plan);
  INFO(plan::describe(all, plan));
  REQUIRE(all.size() == 5);
  CHECK(all.front().changes.empty());
  for (std::size_t k = 1; k < all.size(); ++k) {
    CHECK(!all[k].changes.empty());
    CHECK(all[k].takes.bytes <= plan.memory.budget_bytes);
    CHECK(all[k].takes.seconds * 1.011 >= all.front().takes.seconds);
    CHECK(all[k].tokens_per_s > 0);
    if (k > 1) CHECK(all[k].takes.seconds >= all[k - 1].takes.seconds);
  }
  const auto json = plan::to_json(all);
  CHECK(json[0]["changes"].empty());
  CHECK(json[1]["changes"].size() == all[1].changes.size());
  CHECK(json[1]["total_bytes"] == all[1].takes.bytes);
}

TEST_CASE("of drawn small cases the search takes what trying everything takes") {
  const std::uint64_t first = seed();
  std::printf("TRAINX_DRAW gives cases from %llu\n", static_cast<unsigned long long>(first));
  for (std::uint64_t n = first; n < first + 3; ++n) {
    const search_cases::Case c = search_cases::drawn(n, {.small = true});
    const search_cases::Outcome o = search_cases::outcome_of(c, 0);
    INFO("case " << n << " on " << c.gpu << "\n" << c.recipe);
    CAPTURE(o.choice, o.best, o.seconds, o.best_seconds, o.advised, o.tried);
    CHECK((o.fits || o.best_seconds == 0));
    CHECK(o.advised == "");
    // scripts/search_cases counts those beyond 1 %
    if (o.best_seconds > 0) CHECK(o.seconds <= 1.15 * o.best_seconds);
  }
}

TEST_CASE("of drawn cases the search takes the degrees that trying everything takes") {
  const std::uint64_t first = seed();
  for (std::uint64_t n = first; n < first + 2; ++n) {
    const search_cases::Case c = search_cases::drawn(n, {.small = true, .degrees = true});
    const search_cases::Outcome o = search_cases::outcome_of(c, 0);
    INFO("case " << n << " on " << c.gpu << "\n" << c.recipe);
    CAPTURE(o.choice, o.best, o.seconds, o.best_seconds, o.advised, o.tried);
    CHECK((o.fits || o.best_seconds == 0));
    CHECK(o.advised == "");
    CHECK(!o.crosses);
    if (o.best_seconds > 0) CHECK(o.seconds <= 1.15 * o.best_seconds);
  }
}

TEST_CASE("of ways that are nearly as fast as the fastest of all the simplest is taken") {
  plan::Space space;
  space.modes = {{recipe::ParallelMode::ddp, 1}};
  const auto way = [](std::int64_t micro, double seconds) {
    plan::Decisions c;
    c.mode = recipe::ParallelMode::ddp;
    c.micro_batch_size = micro;
    return plan::Way{c, {.bytes = 1, .seconds = seconds}};
  };
  const std::vector<plan::Way> ways{way(1, 1.011), way(2, 1.008), way(4, 1.0)};
  CHECK(plan::least_seconds_of(ways) == 1.0);
  CHECK(plan::simplest_of(ways, 1.0, space)->choice.micro_batch_size == 2);
  CHECK(plan::simplest_of(ways, 1.005, space)->choice.micro_batch_size == 1);
  CHECK(plan::simplest_of(ways, 0.995, space)->choice.micro_batch_size == 4);
  CHECK(plan::simplest_of(ways, 0.98, space) == nullptr);
}

// Like levels beside copies to the host were not weighed (938); gradients took more in the steps
// between the first and the last (1358); copies are longer than fewer layers say (944, 1493). What
// ranks exchange for experts came back from the host as if it had not to be exchanged anew
// (817684).
TEST_CASE("cases that did not hold do") {
  for (const std::uint64_t n : {938, 944, 1358, 1493, 817684}) {
    const search_cases::Case c = search_cases::drawn(n, {});
    const search_cases::Outcome o = search_cases::outcome_of(c, 24);
    INFO("case " << n << " on " << c.gpu << "\n" << c.recipe);
    CAPTURE(o.choice, o.best, o.seconds, o.best_seconds, o.advised);
    CHECK(o.fits);
    CHECK(o.holds());
  }
}

TEST_CASE("of drawn large cases nothing drawn and nothing advised is faster") {
  const std::uint64_t first = seed();
  for (std::uint64_t n = first; n < first + 3; ++n) {
    const search_cases::Case c = search_cases::drawn(n, {});
    const search_cases::Outcome o = search_cases::outcome_of(c, 8);
    INFO("case " << n << " on " << c.gpu << "\n" << c.recipe);
    CAPTURE(o.choice, o.best, o.seconds, o.best_seconds, o.advised);
    CHECK((o.fits || o.best_seconds == 0));
    CHECK(o.advised == "");
    // scripts/search_cases counts those beyond 1 %
    if (o.best_seconds > 0) CHECK(o.seconds <= 1.15 * o.best_seconds);
  }
}

}  // namespace search_test
