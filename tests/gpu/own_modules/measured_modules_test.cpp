// Modules of a user's own on a GPU as a plan needs them: what they allocate, and whether a CUDA
// graph can hold what they do.
#include "model/custom/measure.hpp"
#include "model/custom/registry.hpp"
#include "trainx/dropout.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include "gpu/device.hpp"
#include "support/user_error.hpp"
#include <functional>
#include <memory>

namespace measured_modules_test {

using namespace trainx;

namespace {

constexpr std::int64_t vocab = 64, width = 32, B = 4, T = 16;
using Middle = std::function<at::Tensor(const at::Tensor& x, bool training)>;

Module link(std::string name, std::vector<at::Tensor> weights,
            std::function<at::Tensor(const at::Tensor&, bool)> forward) {
  Module m{.name = std::move(name)};
  for (const at::Tensor& w : weights)
    m.parameters.push_back({"weight" + std::to_string(m.parameters.size()), w});
  const auto training = std::make_shared<bool>(true);
  m.set_training = [training](bool now) { *training = now; };
  m.forward = [=](const at::Tensor& x) { return forward(x, *training); };
  return m;
}

/// Embedding, what `middle` does after a linear layer, logits.
architectures::CustomDims model_with(const std::string& name, Middle middle) {
  add_model_definition(
      {name, "of a test", {}, [middle](const auto&, const ModelShape&) {
         const auto weight = [](std::int64_t rows) {
           return (0.1 * at::randn({rows, width})).requires_grad_(true);
         };
         const at::Tensor table = weight(vocab), inner = weight(width), head = weight(vocab);
         return Graph(std::vector<Module>{
             link("embedding", {table},
                  [=](const at::Tensor& x, bool) { return at::embedding(table, x); }),
             link("inner", {inner},
                  [=](const at::Tensor& x, bool training) {
                    return middle(at::tanh(at::linear(x, inner)), training);
                  }),
             link("head", {head}, [=](const at::Tensor& x, bool) { return at::linear(x, head); })});
       }});
  architectures::CustomDims dims{{name, "", {}}};
  dims.vocab_size = vocab, dims.max_positions = T;
  return dims;
}

}  // namespace

TEST_CASE("modules on a GPU are measured, captured, and measured again", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto device = model::custom::measured_gpu({.deterministic = true});
  const auto dims = model_with("plain", [](const at::Tensor& x, bool training) {
    return trainx::dropout(x, 0.3, training);
  });
  for (const DType compute : {DType::f32, DType::bf16, DType::f16}) {
    std::vector<std::int64_t> bytes;
    for (const std::int64_t samples : {std::int64_t{1}, B, B}) {
      const auto shape = model::custom::measure_model(dims, samples, T, compute, 1, *device);
      CHECK(shape.on_gpu);
      CHECK(shape.compute == compute);
      CHECK(shape.not_captured == "");
      for (const auto& m : shape.modules) CHECK_FALSE(m.draws);
      bytes.push_back(shape.modules[1].graph_bytes);
      CHECK(shape.library_bytes > 0);
    }
    CHECK(bytes[0] > 0);
    CHECK(bytes[1] >= bytes[0]);
    CHECK(bytes[2] == bytes[1]);
  }
}

TEST_CASE("what a CUDA graph cannot hold is named with its module", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto device = model::custom::measured_gpu({});
  const auto why = [&](const std::string& name, Middle middle) {
    return model::custom::measure_model(model_with(name, std::move(middle)), B, T, DType::f32, 1,
                                        *device)
        .not_captured;
  };
  const std::string counted = why("counting", [](const at::Tensor& x, bool) {
    return x + 1e-3 * static_cast<double>(at::nonzero(x > 0).size(0));
  });
  CHECK(counted.find("module 'inner'") != std::string::npos);
  CHECK(counted.find("aten::nonzero") != std::string::npos);
  const std::string read = why("reading", [](const at::Tensor& x, bool) {
    return x * x.detach().abs().max().item<double>();
  });
  CHECK(read.find("module 'inner'") != std::string::npos);
  CHECK(read.find("aten::") != std::string::npos);
  const std::string drawn = why(
      "drawing", [](const at::Tensor& x, bool training) { return at::dropout(x, 0.3, training); });
  CHECK(drawn.find("module 'inner'") != std::string::npos);
  CHECK(drawn.find("trainx::dropout") != std::string::npos);
  // a failed capture harms nothing later
  CHECK(why("plain-again", [](const at::Tensor& x, bool) { return x; }) == "");
}

TEST_CASE("more memory than the GPU has is refused", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto device = model::custom::measured_gpu({});
  const auto dims = model_with("huge", [](const at::Tensor& x, bool) {
    return x + at::empty({std::int64_t{1} << 42}, x.options()).select(0, 0).detach();
  });
  const std::string said =
      user_error_of([&] { model::custom::measure_model(dims, B, T, DType::f32, 1, *device); });
  CHECK(said.starts_with("71: "));
}

}  // namespace measured_modules_test
