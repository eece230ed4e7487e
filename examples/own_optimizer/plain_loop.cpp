// What `trainx train` does for points.yaml, written as a loop of LibTorch: prints the loss and the
// distance of each step, then those of the held-out points.
#include "../plain/plain.hpp"
#include "sawtooth.hpp"
#include "surface.hpp"

int main(int argc, char** argv) {
  const plain::Settings s = plain::settings(argc, argv);
  torch::manual_seed(s.seed);
  const auto fields = [](const torch::Tensor& lines) {
    return plain::Values{{"point", lines.narrow(1, 0, 4)}, {"z", lines.select(1, 4)}};
  };
  const auto sgd = [&](double decay) {
    return std::make_unique<torch::optim::SGDOptions>(
        torch::optim::SGDOptions(s.lr).momentum(0.9).nesterov(true).weight_decay(decay));
  };
  const auto rate = [&](std::int64_t step) {
    return s.lr * sawtooth({}, {.applied = step, .total = s.steps, .lr = s.lr});
  };
  plain::train(
      s, build_surface({}, {}), 5, fields,
      [&](const std::vector<torch::Tensor>& matrices, const std::vector<torch::Tensor>& vectors) {
        return std::make_unique<torch::optim::SGD>(
            std::vector<torch::optim::OptimizerParamGroup>{{matrices, sgd(0.1)}, {vectors, sgd(0)}},
            *sgd(0.1));
      },
      rate);
}
