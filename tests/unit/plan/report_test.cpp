// One tree of facts, printed as text and as JSON.
#include "plan/explain/describe.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include <set>

namespace report_test {

using namespace trainx;
using nlohmann::json;

TEST_CASE("a report prints texts for people and values for programs, each fact once") {
  plan::ReportSection told{"told", {}}, silent{"silent", {}}, plain;
  told.both("time/step_ms", 1.5, plan::row("step", "1.5 ms"));
  told.tell(plan::row(std::string(40, 'n'), "x"));
  silent.give("time/rest_ms", nullptr);
  plain.both("notes", json::array({"a", "b"}), "note: a\nnote: b\n");
  const plan::Report report{told, silent, plain};
  const std::string text = plan::text_of(report);
  CAPTURE(text);
  CHECK(text.starts_with("told\n  step "));
  CHECK(text.find("\n  " + std::string(40, 'n') + " x\n") != std::string::npos);
  CHECK(text.find("silent") == std::string::npos);
  CHECK(text.ends_with("note: a\nnote: b\n"));
  CHECK(plan::json_of(report) == json{{"time", {{"step_ms", 1.5}, {"rest_ms", nullptr}}},
                                      {"notes", json::array({"a", "b"})}});
  CHECK(plan::text_of({}).empty());
  CHECK(plan::json_of({}) == json::object());
}

TEST_CASE("a plan says no key twice, and people are told no more than programs of its figures") {
  for (const std::string more :
       {"", "eval: {precision: bf16}\n", "precision: fp16\n", "precision: bf16\n",
        "precision: bf16\nmemory: {optimizer_offload: cpu, parameter_offload: cpu}\n",
        "memory: {optimizer_offload: disk}\n", "parallel: {mode: zero3, world_size: 2}\n"}) {
    const auto plan = planned(gpt2_recipe(more), {});
    CAPTURE(more);
    std::set<std::string> keys;
    for (const plan::ReportSection& section : plan::report_of(plan, false, 0))
      for (const plan::Fact& fact : section.facts) {
        CAPTURE(section.heading, fact.key, fact.text);
        CHECK((!fact.key.empty() || !fact.text.empty() || fact.value.is_null()));
        if (!fact.key.empty()) CHECK(keys.insert(fact.key).second);
        CHECK((fact.text.empty() || fact.text.ends_with("\n")));
      }
    const json said = plan::to_json(plan, false);
    CHECK(said["time"]["step_ms"] == plan.time->step_s * 1e3);
    CHECK(said["total_bytes"] == plan.memory.total_bytes());
    std::int64_t sum = 0;
    for (const json& row : said["memory"]) sum += row["bytes"].get<std::int64_t>();
    CHECK(sum == plan.memory.total_bytes());
    CHECK(said["fingerprint"] == plan::fingerprint(plan));
  }
}

}  // namespace report_test
