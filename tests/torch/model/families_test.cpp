// Decoders of every family: the graph of a GPU, computed here, against that of a CPU.
#include "architectures/architecture.hpp"
#include "architectures/families/family.hpp"
#include "compare.hpp"
#include "plain_run.hpp"
#include "support/catch.hpp"
#include "support/small_decoder.hpp"
#include <cmath>

namespace families_test {

using namespace trainx;
using model::test::PlainRun;
using model::test::relative_error;

namespace {

PlainRun run_of(const architectures::ModelDims& dims,
                const architectures::GraphOptions& graph_options) {
  const program::ModelGraph graph = architectures::graph_of(
      std::get<architectures::DecoderDims>(dims), 2, 12, DType::f32, graph_options);
  PlainRun run(dims, graph, program::plain_program(graph, {}));
  run.fill_parameters(5);
  run.fill_batch(6, 50, 0.2);
  run.loss_seed = 1.0 / 64;
  return run;
}

}  // namespace

TEST_CASE("decoders of all families: what a GPU computes, computed here, is the same") {
  std::int64_t families = 0;
  for (const architectures::Family& family : architectures::families()) {
    const std::string name(family.name);
    INFO(name);
    const architectures::ModelDims dims =
        architectures::dims_from_config(small_decoder::small(name).dump(), "config.json");
    PlainRun cpu = run_of(dims, architectures::GraphOptions::on_cpu(2)),
             gpu = run_of(dims, architectures::GraphOptions::on_gpu());
    ++families;
    cpu.run();
    gpu.run();
    const double loss = cpu.buffer("loss_sum", DType::f64).item<double>();
    CHECK(loss > 0);
    CHECK(std::abs(gpu.buffer("loss_sum", DType::f64).item<double>() - loss) <= 1e-6 * loss);
    const auto weights = gpu.parameters("w.", DType::f32), got = gpu.parameters("g.", DType::f32);
    for (const auto& [parameter, w] : cpu.parameters("w.", DType::f32)) {
      INFO(parameter);
      REQUIRE(weights.at(parameter).equal(w));
    }
    for (const auto& [parameter, want] : cpu.parameters("g.", DType::f32)) {
      INFO(parameter << ", largest gradient " << want.abs().max().item<double>());
      CHECK(relative_error(got.at(parameter), want) <= 2e-5);
    }
  }
  CHECK(families > 20);
}

}  // namespace families_test
