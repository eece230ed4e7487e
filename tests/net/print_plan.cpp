// Writes everything that plans decide, for scripts/compare_builds.
//   print_plan [--worker PATH] --cases FILE    a case a line, as JSON; answers a line of JSON each
// The first line is about the build: "hopper_kernels", and the flags and choices of all
// "operations".
// A case: "name", "recipe" (its text), "settings" (key=value), and where they are not the default
// "gpu" (as trainx plan --gpu), "rank" (whose role is printed), "fallback" (names of weights,
// PlanOptions), "facts" (what is otherwise on the machine, as JSON of facts) and "shapes" (what a
// worker measured of its model). An answer: the case's name, and "sections": the text of each
// heading; of a plan that is refused "refused" alone. The machine is a fixed one, so that two
// machines print the same.
#include "launch/worker_description.hpp"
#include "launch/worker_models.hpp"
#include "core/error.hpp"
#include "core/hopper_kernels.hpp"
#include "architectures/architecture.hpp"
#include "architectures/custom_json.hpp"
#include "program/decode.hpp"
#include "program/print.hpp"
#include "tests/net/print_checks.hpp"
#include "tests/net/print_decisions.hpp"
#include "tests/net/print_graph.hpp"
#include "tests/net/print_program.hpp"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using namespace trainx;
using nlohmann::json;
using Sections = std::map<std::string, std::string>;

facts::Facts facts_of(const recipe::Recipe& recipe, const json& given) {
  facts::Facts facts = facts::gather_facts(recipe);
  facts.hardware = {};
  facts.hardware.host = "net";
  facts.hardware.cpu_cores = 2;
  facts.hardware.memory_bytes = std::int64_t{16} << 30;
  facts.hardware.local_ranks = recipe.parallel.world_size.value.value_or(1);
  if (facts.offload_folder)
    facts.offload_folder->free_bytes = std::int64_t{1} << 40,
    facts.offload_folder->bytes_per_s = 1e9;
  if (given.is_null()) return facts;
  json all = facts::to_json(facts);
  all.merge_patch(given);
  return facts::facts_from_json(all);
}

/// Sections of a graph and of a program, without those that an earlier length has already.
void add_programs(Sections& out, const std::string& what, const plan::RunPlan& plan,
                  const std::vector<plan::PlacedProgram>& programs) {
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::string name = what + " " + std::to_string(plan.row_lengths[i]);
    out["graph"] += name + "\n";
    const std::string graph = net::graph_text(programs[i].graph);
    out["graph"] += out["graph"].find(graph) == std::string::npos ? graph : "  as above\n";
    for (const auto& [section, text] : net::program_texts(programs[i]))
      out[section] += name + "\n" + text;
  }
}

/// The program that continues a text.
std::string decoding_text(const plan::RunPlan& plan) {
  if (!architectures::generates(plan.dims)) return {};
  const std::int64_t capacity = plan.row_lengths.back(), so_far = capacity / 2;
  const auto graph_of = [&](std::int64_t length) {
    return architectures::model_graph(architectures::for_evaluation(plan.dims), 1, length,
                                      plan.compute, {plan.threads});
  };
  return "bytes " + std::to_string(program::decode_bytes(graph_of(capacity), capacity)) + "\n" +
         program::print(program::decode_program(graph_of(so_far), capacity));
}

Sections sections_of(const json& one) {
  recipe::LoadOptions load;
  load.overrides = one.value("settings", std::vector<std::string>{});
  const recipe::Recipe recipe =
      recipe::parse_recipe(one.at("recipe").get<std::string>(), "recipe.yaml", load).recipe;
  facts::Facts facts = facts_of(recipe, one.value("facts", json()));
  if (one.contains("shapes"))
    for (const json& shape : one["shapes"])
      facts.model_shapes.push_back(architectures::custom_shape_from_json(shape));
  else
    launch::measure_model(recipe, facts);
  plan::PlanOptions options;
  options.gpu = one.value("gpu", "");
  const int rank = one.value("rank", 0);
  options.fp8_fallback = one.value("fallback", std::set<std::string>{});
  const plan::RunPlan plan = plan::make_run_plan(recipe, facts, options);
  Sections out = net::decision_texts(plan, rank);
  add_programs(out, "train", plan, plan.role(rank).train);
  add_programs(out, "evaluate", plan, plan.role(rank).evaluate);
  out["checks"] = net::checks_text(plan, rank);
  out["decoding"] = decoding_text(plan);
  for (const auto& shape : facts.model_shapes)
    out["shapes"] += architectures::to_json(shape).dump() + "\n";
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  return out;
}

json answer_to(const json& one) {
  json out{{"name", one.at("name")}};
  const auto begin = std::chrono::steady_clock::now();
  try {
    out["sections"] = sections_of(one);
  } catch (const UserError& error) {
    out["sections"]["refused"] = std::to_string(static_cast<int>(error.code())) + " " +
                                 error.what() + "\n";
  } catch (const std::exception& error) { out["failed"] = error.what(); }
  out["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

int run(int argc, char** argv) {
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--cases" && i + 1 < argc) {
      file = argv[++i];
    } else if (word == "--worker" && i + 1 < argc) {
      ::setenv("TRAINX_WORKER", argv[++i], 1);  // which measures models
      launch::describe_worker(argv[i]);
    } else {
      throw std::invalid_argument("no such option: " + word);
    }
  }
  std::ifstream cases(file);
  if (!cases) throw std::invalid_argument("--cases FILE: " + file + " cannot be read");
  std::cout << json{{"hopper_kernels", has_hopper_kernels}, {"operations", net::operations()}}
            << "\n";
  for (std::string line; std::getline(cases, line);)
    std::cout << answer_to(json::parse(line)) << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "print_plan: %s\n", error.what());
    return 1;
  }
}
