// Training with trainx's own products with a GELU, which a step takes where they were measured to
// be the fastest: here their times say so.
#include <algorithm>
#include <string>
#include "gpu/device.hpp"
#include "gpu/gemm_cache.hpp"
#include "gradients.hpp"
#include "on_gpu.hpp"
#include "support/temporary_folder.hpp"
#include "torch/model/bert_cases.hpp"
#include "torch/model/cases.hpp"

namespace own_gelu_test {

using namespace trainx;
using namespace trainx::model::test;

namespace {

/// Times of all products that `gpu` has met: those of own kernels are the shortest.
void save_times_for_own(const OnGpu& gpu, const std::string& file) {
  gpu::GemmChoices times;
  for (const gpu::GemmProblem& p : gpu.gemm().untuned(gpu.gemm_workspace_bytes()))
    times[gpu::key_of(p)] = {.chosen_ms = p.own ? 1e-6 : 1e3};
  gpu::add_choices(file, gpu.gemm().machine(), times);
}

/// Products that would be computed in place of own ones with a GELU.
std::vector<std::string> apart_from_gelu(const OnGpu& gpu) {
  std::vector<std::string> keys;
  for (gpu::GemmProblem p : gpu.gemm().untuned(gpu.gemm_workspace_bytes())) {
    if (!p.own) continue;
    p.own = false;
    p.epilogue = gpu::is_gelu(p.epilogue) ? gpu::GemmEpilogue::bias : gpu::GemmEpilogue::none;
    keys.push_back(gpu::key_of(p));
  }
  return keys;
}

bool is_chosen(const OnGpu& gpu, const std::string& key) {
  return gpu.gemm().choices().find(key) != std::string::npos;
}

/// Runs with own products with a GELU, twice: the gradients are the same to the bit. False where
/// the GPU has none.
bool run_with_own_gelu(PlainRun& run) {
  const TemporaryFolder folder;
  const std::string times = folder.path() + "/gemm.json";
  std::vector<std::string> apart;
  {
    OnGpu gpu(run);
    gpu.run();
    apart = apart_from_gelu(gpu);
    save_times_for_own(gpu, times);
    for (const std::string& key : apart) CHECK(is_chosen(gpu, key));
  }
  if (apart.empty()) {
    note_skipped("takes a GPU that has own products with a GELU");
    return false;
  }
  CHECK(apart.size() == 2);  // forward and backward, alike in all layers
  Gradients first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    OnGpu gpu(run, false, times);
    gpu.run();
    for (const std::string& key : apart) CHECK(!is_chosen(gpu, key));
    for (const auto& [name, g] : run.parameters("g.", DType::f32)) {
      INFO(name);
      if (repeat == 0)
        first[name] = g.clone();
      else
        CHECK(g.equal(first.at(name)));
    }
  }
  return true;
}

}  // namespace

TEST_CASE("GPT-2 with own products with a GELU: as near to fp64 as torch", "[gpu]") {
  TRAINX_NEEDS_GPU();
  // with as many rows that sums of columns take several blocks
  const Case t{"long",
               {.num_layers = 2,
                .num_heads = 4,
                .hidden_size = 256,
                .intermediate_size = 1024,
                .max_positions = 128,
                .vocab_size = 1000},
               64,
               128};
  const auto [compute, theirs] =
      GENERATE(std::pair{DType::bf16, at::kBFloat16}, std::pair{DType::f16, at::kHalf});
  INFO(name_of(compute));
  PlainRun run = make_run(t, architectures::graph_of(t.dims, t.batch, t.length, compute,
                                                     architectures::GraphOptions::on_gpu()));
  if (!run_with_own_gelu(run)) return;
  check_as_torch(run, reference_of(run, t).gradients, reference_of(run, t, theirs).gradients);
}

TEST_CASE("BERT with own products with a GELU: as near to fp64 as torch", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const BertCase t{"long",
                   {.num_layers = 2,
                    .num_heads = 4,
                    .hidden_size = 256,
                    .intermediate_size = 1024,
                    .max_positions = 128,
                    .vocab_size = 1000,
                    .dropout = 0,
                    .task = architectures::Task::classification,
                    .num_labels = 3},
                   64,
                   128};
  PlainRun run = make_run(t, DType::bf16, architectures::GraphOptions::on_gpu());
  if (!run_with_own_gelu(run)) return;
  check_as_torch(run, reference_of(run, t).gradients,
                 reference_of(run, t, at::kBFloat16).gradients);
}

}  // namespace own_gelu_test
