// A training loop of plain LibTorch over a graph: what tests hold trainx's numbers against.
#pragma once
#include <torch/torch.h>
#include <trainx/worker.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>

namespace plain {

struct Settings {
  std::string lines, held_out;  // float64 numbers of each sample, one sample behind the other
  std::int64_t steps = 0, batch = 0;
  std::uint64_t seed = 0;
  double lr = 0;
  std::string variant;  // of the model
};
inline Settings settings(int argc, char** argv) {
  if (argc != 7 && argc != 8) {
    std::cerr << argv[0] << " SAMPLES HELD_OUT STEPS BATCH SEED LR [VARIANT]\n";
    std::exit(2);
  }
  return {argv[1],
          argv[2],
          std::stoll(argv[3]),
          std::stoll(argv[4]),
          std::stoull(argv[5]),
          std::stod(argv[6]),
          argc == 8 ? argv[7] : ""};
}

using Values = std::map<std::string, torch::Tensor>;

inline torch::Tensor read(const std::string& path, std::int64_t numbers) {  // [samples, numbers]
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto bytes = static_cast<std::int64_t>(file.tellg());
  const auto out = torch::empty({bytes / (8 * numbers), numbers}, torch::kDouble);
  file.seekg(0);
  if (!file.read(static_cast<char*>(out.data_ptr()), out.numel() * 8)) std::exit(2);
  return out;
}

inline trainx::Loss loss_of(const trainx::Graph& graph, Values values) {
  for (const trainx::GraphModule& m : graph.modules) {
    std::vector<torch::Tensor> inputs;
    for (const std::string& name : m.inputs) inputs.push_back(values.at(name));
    if (m.loss) return m.loss(inputs);
    const auto made = m.forward(inputs);
    for (std::size_t k = 0; k < made.size(); ++k) values[m.outputs[k]] = made[k];
  }
  throw std::invalid_argument("the graph has no loss");
}

inline void print(const trainx::Loss& loss) {
  std::cout << loss.sum.item<double>() / loss.count.item<double>();
  for (const trainx::Metric& m : loss.metrics)
    std::cout << " " << m.sum.item<double>() / loss.count.item<double>();
  std::cout << "\n";
}

using Tensors = std::vector<torch::Tensor>;
/// Of matrices, which decay, and of vectors, which do not.
using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(
    const Tensors& matrices, const Tensors& vectors)>;

/// AdamW with a weight decay of 0.1.
inline MakeOptimizer adamw(double lr) {
  return [lr](const Tensors& matrices, const Tensors& vectors) {
    const auto with = [lr](double decay) {
      return std::make_unique<torch::optim::AdamWOptions>(
          torch::optim::AdamWOptions(lr).weight_decay(decay));
    };
    return std::make_unique<torch::optim::AdamW>(
        std::vector<torch::optim::OptimizerParamGroup>{{matrices, with(0.1)}, {vectors, with(0)}},
        *with(0.1));
  };
}

/// Steps of that optimizer (none: AdamW), clipped at 1. `fields`: of so many samples. `rate`: lr by
/// step, counted from 0 (none: s.lr).
inline void train(const Settings& s, const trainx::Graph& graph, std::int64_t numbers,
                  const std::function<Values(const torch::Tensor&)>& fields,
                  const MakeOptimizer& make_optimizer = {},
                  const std::function<double(std::int64_t)>& rate = {}) {
  Tensors all, matrices, vectors;
  std::set<const void*> seen;
  for (const auto& module : graph.modules)
    for (const auto& p : module.parameters)
      if (seen.insert(p.tensor.unsafeGetTensorImpl()).second)
        all.push_back(p.tensor), (p.tensor.dim() >= 2 ? matrices : vectors).push_back(p.tensor);
  const auto optimizer = (make_optimizer ? make_optimizer : adamw(s.lr))(matrices, vectors);
  const auto values = [&](const torch::Tensor& lines) {
    Values made = fields(lines);
    for (auto& [name, tensor] : made)
      if (tensor.scalar_type() == torch::kDouble) tensor = tensor.to(torch::kFloat);
    return made;
  };
  std::cout.precision(12);
  const auto samples = read(s.lines, numbers);
  for (std::int64_t step = 0; step < s.steps; ++step) {
    const trainx::Loss loss = loss_of(graph, values(samples.narrow(0, step * s.batch, s.batch)));
    optimizer->zero_grad();
    (loss.sum / loss.count).backward();
    torch::nn::utils::clip_grad_norm_(all, 1.0);
    if (rate)
      for (auto& group : optimizer->param_groups()) group.options().set_lr(rate(step));
    optimizer->step();
    print(loss);
  }
  const torch::NoGradGuard no_gradients;
  for (const auto& module : graph.modules) module.set_training(false);
  print(loss_of(graph, values(read(s.held_out, numbers))));
}

}  // namespace plain
