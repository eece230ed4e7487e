// Writes everything that a plan decides, for scripts/compare_builds: programs with their
// placement and order, memory, expected kernels, learning rates, predicted time.
//   print_plan [--gpu NAME] [--rank R] [--worker PATH] RECIPE [key=value ...]
// The machine is a fixed one, so that two machines print the same.
#include "launch/worker_description.hpp"
#include "launch/worker_models.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/run_plan.hpp"
#include "program/print.hpp"
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace trainx;

void line(const std::string& text) { std::fputs((text + "\n").c_str(), stdout); }

void row(const std::string& name, const std::string& value) { line("  " + name + " " + value); }
void row(const std::string& name, std::int64_t value) { row(name, std::to_string(value)); }

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string_view name_of_space(program::Space space) {
  switch (space) {
    case program::Space::device: return "device";
    case program::Space::host: return "host";
    case program::Space::disk: return "disk";
    case program::Space::library: return "library";
  }
  return "";
}

// By instruction: lane and place in it of each instruction that it waits for.
void print_order(const program::Order& order) {
  line("order");
  for (std::size_t i = 0; i < order.steady.size(); ++i) {
    std::string waits;
    for (const program::Wait& w : order.steady[i])
      waits += " " + std::string(name_of(w.lane)) + std::to_string(w.index) +
               (w.back > 0 ? "'" : "");
    if (!waits.empty()) row(std::to_string(i) + ":", waits);
  }
}

void print_program(const std::string& name, const plan::PlacedProgram& placed) {
  line(name + ": " + std::to_string(placed.graph.tokens) + " tokens, " +
       std::to_string(placed.micro_steps) + " micro-steps");
  line(program::print(placed.program, &placed.graph));
  line("placement");
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b) {
    const program::Buffer& buffer = placed.program.buffers[b];
    row(std::string(name_of_space(buffer.space)) + " " + std::to_string(placed.placement.base[b]) +
            " " + std::to_string(buffer.bytes()),
        buffer.name);
  }
  print_order(placed.order);
}

void print_memory(const plan::MemoryPlan& m) {
  line("memory");
  for (const auto& [name, bytes] : m.categories) row(name, bytes);
  for (const auto& [name, bytes] : m.on_host) row("on host: " + name, bytes);
  row("arena", m.arena_bytes);
  row("library", m.library_bytes);
  row("host", m.host_bytes);
  row("disk", m.disk_bytes);
  row("beside host", m.beside_host_bytes);
  row("process", m.process_bytes);
  row("total", m.total_bytes());
}

void print_expected(const plan::ExpectedKernels& c) {
  line("expected kernels");
  row("captured", c.captured);
  row("attention", std::string(name_of(c.attention)));
  row("documents", c.documents);
  row("attention forward", c.attention_forward);
  row("attention backward", c.attention_backward);
  row("matrix products", c.matrix_products);
  row("products recomputed", c.products_recomputed);
  row("norms recomputed", c.norms_recomputed);
  row("recomputation", c.activation_checkpoint);
  row("update launches", c.update_launches);
  row("summed", c.summed);
  row("sharded", c.sharded);
  row("offloaded bytes", c.offloaded_bytes);
  row("host updates", c.host_updates);
  row("updates stay", c.updates_stay);
  row("gradients out", c.gradients_out_bytes);
  row("weights back", c.weights_back_bytes);
  row("gradients rounded", c.gradients_rounded);
  row("parameters in", c.parameters_in_bytes);
  row("parameters out", c.parameters_out_bytes);
  row("weights on disk", c.weights_on_disk);
  row("update", c.update);
  row("weights", c.weights);
}

void print_plan(const plan::RunPlan& plan) {
  for (std::size_t i = 0; i < plan.train.size(); ++i)
    print_program("train " + std::to_string(plan.row_lengths[i]), plan.train[i]);
  for (std::size_t i = 0; i < plan.evaluate.size(); ++i)
    print_program("evaluate " + std::to_string(plan.row_lengths[i]), plan.evaluate[i]);
  print_memory(plan.memory);
  if (plan.on_gpu) print_expected(plan::expected_kernels(plan, plan.train.back().graph));
  if (plan.time) {
    line("time");
    row("step", exact(plan.time->step_s));
    row("products", exact(plan.time->gemm_s));
    row("attention", exact(plan.time->attention_s));
    row("memory", exact(plan.time->memory_s));
  }
  line("learning rates");
  for (const double rate : plan.lr_table) row("", exact(rate));
  line("choices");
  for (const std::string& choice : plan.choices) row("", choice);
}

int run(int argc, char** argv) {
  plan::PlanOptions options;
  std::string config, worker;
  recipe::LoadOptions load;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--gpu" && i + 1 < argc)
      options.gpu = argv[++i];
    else if (word == "--rank" && i + 1 < argc)
      options.rank = std::atoi(argv[++i]);
    else if (word == "--worker" && i + 1 < argc)
      worker = argv[++i];
    else if (word.find('=') != std::string::npos)
      load.overrides.push_back(word);
    else
      config = word;
  }
  if (!worker.empty()) {
    ::setenv("TRAINX_WORKER", worker.c_str(), 1);  // which measures the model's memory
    launch::describe_worker(worker);
  }
  const recipe::Recipe recipe = recipe::load_recipe(config, load).recipe;
  facts::Facts facts = facts::gather_facts(recipe);
  facts.hardware = {};
  facts.hardware.host = "net";
  facts.hardware.cpu_cores = 2;
  facts.hardware.memory_bytes = std::int64_t{16} << 30;
  facts.hardware.local_ranks = recipe.parallel.world_size.value.value_or(1);
  if (facts.offload_folder)
    facts.offload_folder->free_bytes = std::int64_t{1} << 40,
    facts.offload_folder->bytes_per_s = 1e9;
  launch::measure_model(recipe, facts);
  print_plan(plan::make_run_plan(recipe, facts, options));
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
