// A small network that learns a function of four numbers.
#pragma once
#include <torch/torch.h>
#include <trainx/worker.hpp>
#include <cstdint>

struct SurfaceOptions {
  std::int64_t width = 32;
};
template <class Visitor>
void visit_fields(Visitor& field, SurfaceOptions& o) {
  field("width", o.width, trainx::at_least(1), "features of the hidden layers");
}

struct HiddenImpl : torch::nn::Module {
  HiddenImpl(std::int64_t in, std::int64_t out)
      : linear(register_module("linear", torch::nn::Linear(in, out))) {}
  torch::Tensor forward(const torch::Tensor& x) { return torch::tanh(linear(x)); }
  torch::nn::Linear linear;
};
TORCH_MODULE(Hidden);

struct SquaredErrorImpl : torch::nn::Module {
  trainx::Loss forward(const torch::Tensor& height, const torch::Tensor& z) {
    const auto error = height.to(torch::kFloat).squeeze(1) - z;
    return {error.square().sum(), torch::tensor(z.size(0)), {{"distance", error.abs().sum()}}};
  }
};
TORCH_MODULE(SquaredError);

inline trainx::Graph build_surface(const SurfaceOptions& o, const trainx::ModelShape&) {
  trainx::Graph graph;
  graph.field("point", {4});
  graph.field("z", {});
  graph.add("first", Hidden(4, o.width), {"point"}, {"a"});
  graph.add("second", Hidden(o.width, o.width), {"a"}, {"b"});
  graph.add("head", torch::nn::Linear(o.width, 1), {"b"}, {"height"});
  graph.add("loss", SquaredError(), {"height", "z"});
  return graph;
}
