// A small residual network for images: its data are own fields, its loss is its own.
#pragma once
#include <torch/torch.h>
#include <trainx/worker.hpp>
#include <cstdint>
#include <tuple>

struct ClassifierOptions {
  std::int64_t channels = 1, size = 8, width = 8, classes = 4;
  double smoothing = 0;
  bool batch_norm = false;
};

template <class Visitor>
void visit_fields(Visitor& field, ClassifierOptions& o) {
  field("channels", o.channels, trainx::at_least(1), "of an image");
  field("size", o.size, trainx::at_least(4), "rows and columns of an image");
  field("width", o.width, trainx::at_least(1), "channels of the first layer");
  field("classes", o.classes, trainx::at_least(2), "number of classes");
  field("batch_norm", o.batch_norm, trainx::anything(),
        "norms have running statistics, which checkpoints hold");
  field("smoothing", o.smoothing, trainx::unit_interval(), "label smoothing of the loss");
}

/// Two scales of an image: [B, width, size, size] and half of that.
struct StemImpl : torch::nn::Module {
  explicit StemImpl(const ClassifierOptions& o)
      : fine(register_module(
            "fine",
            torch::nn::Conv2d(torch::nn::Conv2dOptions(o.channels, o.width, 3).padding(1)))),
        coarse(register_module(
            "coarse", torch::nn::Conv2d(torch::nn::Conv2dOptions(o.width, o.width, 2).stride(2)))) {
  }
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& image) {
    const auto x = torch::relu(fine(image));
    return {x, torch::relu(coarse(x))};
  }
  torch::nn::Conv2d fine, coarse;
};
TORCH_MODULE(Stem);

struct ResidualImpl : torch::nn::Module {
  ResidualImpl(std::int64_t width, bool batch_norm)
      : conv(register_module(
            "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(width, width, 3).padding(1)))) {
    if (batch_norm)
      of_batch = register_module("norm", torch::nn::BatchNorm2d(width));
    else
      of_sample =
          register_module("norm", torch::nn::GroupNorm(torch::nn::GroupNormOptions(1, width)));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return x + torch::relu(conv(of_batch ? of_batch(x) : of_sample(x)));
  }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d of_batch{nullptr};
  torch::nn::GroupNorm of_sample{nullptr};
};
TORCH_MODULE(Residual);

/// Reads both scales.
struct HeadImpl : torch::nn::Module {
  explicit HeadImpl(const ClassifierOptions& o)
      : linear(register_module("linear", torch::nn::Linear(2 * o.width, o.classes))) {}
  torch::Tensor forward(const torch::Tensor& fine, const torch::Tensor& coarse) {
    return linear(torch::cat({fine.mean({2, 3}), coarse.amax({2, 3})}, 1));
  }
  torch::nn::Linear linear;
};
TORCH_MODULE(Head);

struct ClassLossImpl : torch::nn::Module {
  explicit ClassLossImpl(double share) : smoothing(share) {}
  trainx::Loss forward(const torch::Tensor& logits, const torch::Tensor& label) {
    const auto sum =
        torch::nn::functional::cross_entropy(logits.to(torch::kFloat), label,
                                             torch::nn::functional::CrossEntropyFuncOptions()
                                                 .reduction(torch::kSum)
                                                 .label_smoothing(smoothing));
    return {sum, torch::tensor(label.size(0)), {{"accuracy", (logits.argmax(1) == label).sum()}}};
  }
  double smoothing;
};
TORCH_MODULE(ClassLoss);

inline trainx::Graph build_classifier(const ClassifierOptions& o, const trainx::ModelShape&) {
  trainx::Graph graph;
  graph.field("image", {o.channels, o.size, o.size});
  graph.field("label", {}, trainx::FieldType::i64);
  graph.add("stem", Stem(o), {"image"}, {"fine", "coarse"});
  graph.add("fine-block", Residual(o.width, o.batch_norm), {"fine"}, {"fine1"});
  graph.add("coarse-block", Residual(o.width, o.batch_norm), {"coarse"}, {"coarse1"});
  graph.add("head", Head(o), {"fine1", "coarse1"}, {"logits"});
  graph.add("loss", ClassLoss(o.smoothing), {"logits", "label"});
  return graph;
}
