// Models for tests/e2e/own_modules_gpu_test.py and own_modules_test.py: a graph with tied towers,
// several outputs, an own loss with metrics, and options for what may go wrong on a GPU; and the
// GPT-2 of bench/own_gpt2. Optimizers for tests/e2e/own_optimizer_gpu_test.py.
#include "bench/own_gpt2/own_gpt2.hpp"
#include "tests/workers/own_modules/optimizers.hpp"

namespace {

struct PairOptions {
  std::int64_t width = 32, features = 12;
  double dropout = 0, torch_dropout = 0;
  bool batch_norm = false, nonzero = false;
  std::int64_t channels = 4, grows = 0;
};

template <class Visitor>
void visit_fields(Visitor& field, PairOptions& o) {
  field("width", o.width, trainx::at_least(4), "of a tower's vector; a multiple of 4");
  field("features", o.features, trainx::at_least(1), "of each side of a pair");
  field("dropout", o.dropout, trainx::unit_interval(), "trainx::dropout's");
  field("torch_dropout", o.torch_dropout, trainx::unit_interval(), "torch::nn::Dropout's");
  field("batch_norm", o.batch_norm, trainx::anything(), "running statistics, which are buffers");
  field("channels", o.channels, trainx::at_least(1),
        "that batch_norm has statistics of; as many as `width` have one value a sample");
  field("nonzero", o.nonzero, trainx::anything(), "asks the GPU how many values are positive");
  field("grows", o.grows, trainx::non_negative(),
        "MiB that the join takes more in each forward after its tenth");
}

struct TowerImpl : torch::nn::Module {
  explicit TowerImpl(const PairOptions& o)
      : dropout(o.dropout),
        first(register_module("first", torch::nn::Linear(o.features, o.width))),
        second(register_module("second", torch::nn::Linear(o.width, o.width))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return second(trainx::dropout(torch::tanh(first(x)), dropout, is_training()));
  }
  double dropout;
  torch::nn::Linear first, second;
};
TORCH_MODULE(Tower);

struct JoinImpl : torch::nn::Module {
  explicit JoinImpl(const PairOptions& o)
      : options(o), dropout(register_module("dropout", torch::nn::Dropout(o.torch_dropout))) {
    if (o.batch_norm)
      norm = register_module(
          "norm", torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(o.channels).momentum(0.3)));
  }
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& left,
                                                   const torch::Tensor& right) {
    auto sum = dropout(left + right);
    if (norm) sum = norm(sum.view({sum.size(0), options.channels, -1})).view(sum.sizes());
    if (options.nonzero) sum = sum + 1e-3 * static_cast<double>(torch::nonzero(sum > 0).size(0));
    if (is_training() && ++calls > 10 && options.grows > 0)
      kept.push_back(torch::empty({calls * options.grows * (1 << 18)},
                                  left.options().dtype(torch::kFloat).requires_grad(false)));
    return {sum, left - right};
  }
  PairOptions options;
  torch::nn::Dropout dropout;
  torch::nn::BatchNorm1d norm{nullptr};
  std::vector<torch::Tensor> kept;
  std::int64_t calls = 0;
};
TORCH_MODULE(Join);

/// Squared error of one number, beside the share of signs that are right.
struct PairLossImpl : torch::nn::Module {
  explicit PairLossImpl(const PairOptions& o)
      : linear(register_module("linear", torch::nn::Linear(2 * o.width, 1))) {}
  trainx::Loss forward(const torch::Tensor& sum, const torch::Tensor& difference,
                       const torch::Tensor& goal) {
    const auto found = linear(torch::cat({sum, difference}, 1)).squeeze(1).to(torch::kFloat);
    return {(found - goal).square().sum(),
            torch::tensor(goal.size(0)),
            {{"signs", (found.sign() == goal.sign()).sum()}}};
  }
  torch::nn::Linear linear;
};
TORCH_MODULE(PairLoss);

trainx::Graph build_pairs(const PairOptions& o, const trainx::ModelShape&) {
  trainx::Graph graph;
  graph.field("left", {o.features});
  graph.field("right", {o.features});
  graph.field("goal", {});
  const Tower tower(o);
  graph.add("left-tower", tower, {"left"}, {"left-vector"});
  graph.add("right-tower", tower, {"right"}, {"right-vector"});
  graph.add("join", Join(o), {"left-vector", "right-vector"}, {"sum", "difference"});
  graph.add("loss", PairLoss(o), {"sum", "difference", "goal"});
  graph.cheap("join");
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  trainx::add_model<PairOptions>("pairs", "tied towers over pairs of vectors", build_pairs);
  trainx::add_model<OwnGpt2Options>("own_gpt2", "GPT-2 of torch::nn modules", build_own_gpt2);
  add_optimizers();
  return trainx::worker_main(argc, argv);
}
