// A small causal MLP-mixer: each block mixes positions (of the past), then features. Plain
// LibTorch.
#pragma once
#include <torch/torch.h>
#include <trainx/worker.hpp>
#include <cstdint>

enum class Activation { relu, gelu };
inline const trainx::EnumNames<Activation>& enum_names(Activation) {
  static const trainx::EnumNames<Activation> names{{Activation::relu, "relu"},
                                                   {Activation::gelu, "gelu"}};
  return names;
}

struct MixerOptions {
  std::int64_t vocab_size = 0, width = 32, depth = 2;
  double dropout = 0;
  Activation activation = Activation::gelu;
};

template <class Visitor>
void visit_fields(Visitor& field, MixerOptions& o) {
  field("vocab_size", o.vocab_size, trainx::non_negative(),
        "tokens of the vocabulary; 0: the data source's");
  field("width", o.width, trainx::at_least(1), "features of a token");
  field("depth", o.depth, trainx::between(1, 100), "mixer blocks");
  field("dropout", o.dropout, trainx::unit_interval(), "dropout of each block's output");
  field("activation", o.activation, trainx::anything(), "between the two linear layers");
}

struct MixerBlockImpl : torch::nn::Module {
  MixerBlockImpl(const MixerOptions& o, std::int64_t positions)
      : activation(o.activation),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({o.width})))),
        up(register_module("up", torch::nn::Linear(o.width, 4 * o.width))),
        down(register_module("down", torch::nn::Linear(4 * o.width, o.width))),
        dropout(register_module("dropout", torch::nn::Dropout(o.dropout))),
        mix(register_parameter("mix", torch::randn({positions, positions}) / positions)),
        past(register_buffer("past", torch::ones({positions, positions}).tril())) {}

  torch::Tensor forward(const torch::Tensor& x) {  // [B, T, width]
    const auto T = x.size(1);
    const auto mixed = x + torch::matmul((mix * past).narrow(0, 0, T).narrow(1, 0, T), x);
    const auto inner = up(norm(mixed));
    return mixed +
           dropout(down(activation == Activation::gelu ? torch::gelu(inner) : torch::relu(inner)));
  }

  Activation activation;
  torch::nn::LayerNorm norm;
  torch::nn::Linear up, down;
  torch::nn::Dropout dropout;
  torch::Tensor mix, past;
};
TORCH_MODULE(MixerBlock);

inline std::vector<trainx::Module> build_mixer(const MixerOptions& o,
                                               const trainx::ModelShape& shape) {
  std::vector<trainx::Module> chain{
      trainx::named("embedding", torch::nn::Embedding(shape.vocab_size, o.width))};
  for (std::int64_t i = 0; i < o.depth; ++i)
    chain.push_back(trainx::named("block" + std::to_string(i), MixerBlock(o, shape.max_positions)));
  chain.push_back(trainx::named("head", torch::nn::Linear(o.width, shape.vocab_size)));
  return chain;
}
