// Recipes with optimizers and schedules that are known only when the program runs.
#include "options/own_json.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"
#include "recipe/worker_parts.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <limits>
#include <nlohmann/json.hpp>

namespace own_optimizer_test {

using namespace trainx;

namespace {

recipe::WorkerParts parts() {
  recipe::WorkerParts p;
  const options::OwnOptimizerOptions rule{"rule",
                                          "a rule",
                                          {{"beta", 0.5, unit_interval(), "of what"},
                                           {"weight_decay", 0.25, non_negative(), "decay"},
                                           {"steps", std::int64_t{3}, at_least(1), "how many"}},
                                          {{"m", DType::f32, 0.5}}};
  const options::OwnSchedule course{"course", "a course", {{"period", std::int64_t{4}, {}, "p"}}};
  // as a worker's answer arrives
  const auto again = [](const auto& part) {
    return nlohmann::json::parse(options::to_json(part).dump());
  };
  p.optimizers = {options::own_optimizer_from_json(again(rule)),
                  options::OwnOptimizerOptions{"bare", "without options"}};
  p.schedules = {options::own_schedule_from_json(again(course))};
  return p;
}

struct Known {
  explicit Known(recipe::WorkerParts p) { REQUIRE(recipe::make_known(std::move(p)).empty()); }
  ~Known() { recipe::make_known({}); }
};

std::string recipe_with(const std::string& more) {
  return "run: {name: a}\nmodel: {type: gpt2}\ndata: {type: stories}\n"
         "batch: {global_batch_size: 2, micro_batch_size: 1}\n" +
         more;
}
recipe::LoadedRecipe read(const std::string& text) { return recipe::parse_recipe(text, "r.yaml"); }

}  // namespace

TEST_CASE("an optimizer and a schedule of a worker are read, with their defaults, and written") {
  const Known known(parts());
  const auto loaded = read(recipe_with(
      "optimizer: {type: rule, options: {beta: 0.75}}\nschedule: {type: course, period: 7}\n"));
  auto rule = std::get<options::OwnOptimizerOptions>(loaded.recipe.optimizer.options);
  CHECK(std::get<double>(rule.fields.at(0).value) == 0.75);
  CHECK(*options::weight_decay_of(rule) == 0.25);
  const auto states = options::states(rule);
  REQUIRE(states.size() == 1);
  CHECK((states[0].name == "m" && states[0].initial == 0.5 && states[0].dtype == DType::f32));
  const auto& course = std::get<options::OwnSchedule>(loaded.recipe.schedule.course);
  CHECK(std::get<std::int64_t>(course.fields.at(0).value) == 7);
  CHECK(loaded.origins.at("optimizer.options.beta") == "r.yaml:5:41");
  const std::string text = recipe::dump(loaded.recipe);
  CHECK(recipe::dump(read(text).recipe) == text);
  CHECK(recipe::list_alternatives("optimizers").back().first == "bare");
  CHECK(recipe::list_alternatives("schedules").back().first == "course");
}

TEST_CASE("another weight decay reaches an optimizer that has one") {
  const Known known(parts());
  options::OptimizerOptions o = options::described_optimizers().front();
  auto with = std::get<options::OwnOptimizerOptions>(options::with_weight_decay(o, 2));
  CHECK(*options::weight_decay_of(with) == 2);
  options::OptimizerOptions bare = options::described_optimizers().back();
  auto without = std::get<options::OwnOptimizerOptions>(options::with_weight_decay(bare, 2));
  CHECK(options::weight_decay_of(without) == nullptr);
}

TEST_CASE("what is wrong with them is told with its key") {
  const Known known(parts());
  const auto told = [](const std::string& more) {
    return user_error_of([&] { read(recipe_with(more)); });
  };
  for (const auto& [more, part] :
       {std::pair{"optimizer: {type: rule, options: {bta: 1}}\n", "'beta'"},
        {"optimizer: {type: rule, options: {beta: 1}}\n", "optimizer.options.beta"},
        {"optimizer: {type: rule, options: {eps: 1}}\n", "adamw"},
        {"optimizer: {type: rul}\n", "'rule'"},
        {"optimizer: {type: bare, groups: [{match: a, weight_decay: 1}]}\n", "bare"},
        {"optimizer: {type: bare}\nmemory: {optimizer_offload: {where: cpu}}\n", "bare"},
        {"schedule: {type: cours}\n", "'course'"},
        {"schedule: {type: course, period: a}\n", "schedule.period"},
        {"schedule: {type: course, final_ratio: 0.5}\n", "schedule.final_ratio"}}) {
    const std::string said = told(more);
    INFO(more << said);
    CHECK(said.starts_with("78: "));
    CHECK(said.find(part) != std::string::npos);
  }
}

TEST_CASE("without their worker they are unknown, and their keys are nobody's") {
  const std::string said = user_error_of([] {
    read(recipe_with("optimizer: {type: zigzag, options: {b: 1}}\nschedule: {type: zag, p: 1}\n"));
  });
  INFO(said);
  CHECK(said.find("optimizer.type") != std::string::npos);
  CHECK(said.find("schedule.type") != std::string::npos);
  CHECK(said.find("--worker") != std::string::npos);
  CHECK(said.find("options.b") == std::string::npos);
}

TEST_CASE("parts that cannot be used make nothing known") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<recipe::WorkerParts> wrong;
  const auto optimizer = [&](options::OwnOptimizerOptions o) {
    wrong.emplace_back().optimizers = {std::move(o)};
  };
  optimizer({"adamw", ""});
  optimizer({"a b", ""});
  optimizer({"a", "", {{"k", 1.0, {}, ""}, {"k", 1.0, {}, ""}}});
  optimizer({"a", "", {{"weight_decay", std::int64_t{1}, {}, ""}}});
  optimizer({"a", "", {}, {{"m", DType::f32}, {"m", DType::f32}}});
  optimizer({"a", "", {}, {{"ema", DType::f32}}});
  optimizer({"a", "", {}, {{"m.x", DType::f32}}});
  optimizer({"a", "", {}, {{"m", DType::f32, nan}}});
  wrong.emplace_back().schedules = {{"cosine", ""}};
  wrong.emplace_back().schedules = {{"a", "", {{"warmup", 1.0, {}, ""}}}};
  wrong.emplace_back().data = {{"jsonl", ""}};
  wrong.emplace_back().data = {{"a", "", {{"sequence_length", std::int64_t{1}, {}, ""}}}};
  wrong.emplace_back().models = {{"gpt2", ""}};
  for (recipe::WorkerParts& p : wrong) {
    p.schedules.push_back({"fine", ""});
    CHECK_FALSE(recipe::make_known(std::move(p)).empty());
    CHECK(options::described_schedules().empty());
  }
}

TEST_CASE("a function that returns no share of the learning rate is told by name and step") {
  const auto told = [](ScheduleFunction function) {
    const options::OwnSchedule o{
        "course", "", {}, [=](const std::vector<OptionField>&) { return function; }};
    return user_error_of([&] { options::checked_function(o)({.applied = 17, .total = 20}); });
  };
  for (const double bad :
       {-0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::string said = told([=](const ScheduleStep&) { return bad; });
    INFO(said);
    CHECK(said.starts_with("78: schedule course"));
    CHECK(said.find("17") != std::string::npos);
  }
  CHECK(told([](const ScheduleStep&) -> double {
          throw std::runtime_error("lost");
        }).find("lost") != std::string::npos);
  CHECK(told([](const ScheduleStep&) { return 0.0; }) == "nothing thrown");
}

}  // namespace own_optimizer_test
