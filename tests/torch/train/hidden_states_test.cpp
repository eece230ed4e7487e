// A pretrained BERT from a Hugging Face folder against hidden states that transformers computed
// (tests/e2e/bert_test.py makes both).
#include "model/model.hpp"
#include "execute/cpu_executor.hpp"
#include "state/resident_state.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max.h>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include "support/catch.hpp"

namespace hidden_states_test {

using namespace trainx;

namespace {

/// A program that leaves residual<last> and branch<last> behind.
plan::PlacedProgram forward_of(const architectures::ModelDims& dims, std::int64_t batch,
                               std::int64_t length) {
  plan::PlacedProgram placed;
  placed.graph = architectures::model_graph(dims, batch, length, DType::f32,
                                            architectures::GraphOptions::on_cpu(2));
  placed.program = program::forward_program(program::plain_program(placed.graph, {}), placed.graph,
                                            program::Op::predict);
  // nothing is overwritten: what blocks hand on can be read afterwards
  placed.placement = program::unplaced(placed.program);
  placed.order = program::derive_order(placed.program, placed.placement);
  return placed;
}

template <class T>
void copy_in(const checkpoint::TensorEntry& from, std::span<T> to) {
  REQUIRE(from.data.size() == to.size_bytes());
  std::memcpy(to.data(), from.data.data(), from.data.size());
}

}  // namespace

TEST_CASE("hidden states of a pretrained BERT equal transformers'", "[.hidden_states]") {
  const char *folder = std::getenv("TRAINX_TEST_FOLDER"),
             *expected = std::getenv("TRAINX_TEST_HIDDEN");
  REQUIRE(folder);
  REQUIRE(expected);
  auto dims = std::get<architectures::BertDims>(architectures::read_config(folder));
  dims.task = architectures::Task::classification;  // whose pooler such folders hold
  dims.num_labels = 2;
  const checkpoint::SafetensorsReader file(expected);
  const std::int64_t C = dims.hidden_size, last = 2 * dims.num_layers - 1;
  double worst = 0, largest = 0;
  int batches = 0;
  for (; file.tensors().contains("tokens." + std::to_string(batches)); ++batches) {
    const std::string suffix = "." + std::to_string(batches);
    const auto& tokens = file.tensors().at("tokens" + suffix);
    const std::int64_t B = tokens.dims.at(0), T = tokens.dims.at(1);
    const std::vector<plan::PlacedProgram> programs{forward_of(dims, B, T)};
    const plan::PlacedProgram& placed = programs.front();
    execute::Arena arena(placed.placement.peak_of(program::Space::device));
    state::ResidentState resident(placed, arena);
    resident.initialize(1);
    const auto missing = resident.start_from(folder, dims, 1);
    CHECK(missing == std::vector<std::string>{"classifier.weight", "classifier.bias"});
    std::vector<model::Blocks> blocks;
    blocks.push_back(model::build_blocks(dims, placed.graph));
    const auto fetch = [&](std::int64_t, int, int, data::BatchView out) {
      copy_in(tokens, out.tokens);
      copy_in(file.tensors().at("token_types" + suffix), out.token_types);
      copy_in(file.tensors().at("lengths" + suffix), out.lengths);
    };
    execute::CpuExecutor executor(programs, arena,
                                  {&blocks, nullptr, fetch, {}, model::Mode::eval});
    executor.submit_step();
    executor.wait_idle();
    auto rows = [&](const std::string& name) {
      return tensor::torch_view(
          make_tensor(const_cast<std::byte*>(executor.output(name + std::to_string(last))),
                      DType::f32, {B, T, C}));
    };
    auto weight = [&](const std::string& name) {
      for (std::size_t g = 0; g < placed.graph.groups.size(); ++g)
        for (const auto& p : placed.graph.groups[g].parameters)
          if (p.name == name)
            return tensor::torch_view(make_tensor(
                const_cast<std::byte*>(executor.output("w." + placed.graph.groups[g].name)) +
                    p.offset * 4,
                DType::f32, p.dims));
      FAIL("no parameter " << name);
      return at::Tensor();
    };
    const std::string layer = "bert.encoder.layer." + std::to_string(dims.num_layers - 1) + ".";
    auto norm = [&](const at::Tensor& x, const std::string& name) {
      return at::layer_norm(x, {C}, weight(name + ".weight"), weight(name + ".bias"),
                            dims.layer_norm_epsilon);
    };
    const at::Tensor hidden = norm(norm(rows("residual"), layer + "attention.output.LayerNorm") +
                                       rows("branch") + weight(layer + "output.dense.bias"),
                                   layer + "output.LayerNorm");
    const at::Tensor want = tensor::torch_view(
        make_tensor(const_cast<std::byte*>(file.tensors().at("hidden" + suffix).data.data()),
                    DType::f32, {B, T, C}));
    const auto* lengths =
        reinterpret_cast<const std::int32_t*>(file.tensors().at("lengths" + suffix).data.data());
    for (std::int64_t b = 0; b < B; ++b) {
      const double difference =
          (hidden[b] - want[b]).narrow(0, 0, lengths[b]).abs().max().item<double>();
      CHECK(difference <= 1e-5);
      worst = std::max(worst, difference);
      largest = std::max(largest, want[b].narrow(0, 0, lengths[b]).abs().max().item<double>());
    }
  }
  std::cout << batches << " batches, largest difference " << worst << " of " << largest << "\n";
  CHECK(batches > 0);
}

}  // namespace hidden_states_test
