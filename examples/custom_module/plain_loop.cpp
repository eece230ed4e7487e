// What `trainx train` does for mixer.yaml, written as a loop of LibTorch: prints the loss of each
// step.
#include "mixer.hpp"
#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 8) return std::cerr << "plain-loop TOKENS.bin STEPS BATCH LENGTH VOCAB SEED LR\n", 2;
  const std::int64_t steps = std::stoll(argv[2]), batch = std::stoll(argv[3]),
                     length = std::stoll(argv[4]), vocab = std::stoll(argv[5]);
  std::ifstream file(argv[1], std::ios::binary);
  file.seekg(256 * 4);  // llm.c's header
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(steps * batch * length + 1));
  if (!file.read(reinterpret_cast<char*>(tokens.data()),
                 static_cast<std::streamsize>(2 * tokens.size())))
    return std::cerr << "too few tokens\n", 2;

  torch::manual_seed(std::stoull(argv[6]));
  MixerOptions options;
  options.vocab_size = vocab;
  const auto chain = build_mixer(options, {length, vocab, 0});
  std::vector<torch::Tensor> all, matrices, vectors;  // weight decay is for matrices
  for (const auto& module : chain)
    for (const auto& p : module.parameters)
      all.push_back(p.tensor), (p.tensor.dim() >= 2 ? matrices : vectors).push_back(p.tensor);
  const torch::optim::AdamWOptions settings =
      torch::optim::AdamWOptions(std::stod(argv[7])).weight_decay(0.1);
  auto undecayed = std::make_unique<torch::optim::AdamWOptions>(settings);
  undecayed->weight_decay(0);
  torch::optim::AdamW optimizer({{matrices, std::make_unique<torch::optim::AdamWOptions>(settings)},
                                 {vectors, std::move(undecayed)}},
                                settings);

  std::cout.precision(9);
  for (std::int64_t step = 0; step < steps; ++step) {
    auto x = torch::empty({batch, length}, torch::kLong),
         y = torch::empty({batch, length}, torch::kLong);
    for (std::int64_t i = 0; i < batch * length; ++i) {
      x.data_ptr<std::int64_t>()[i] = tokens[static_cast<std::size_t>(step * batch * length + i)];
      y.data_ptr<std::int64_t>()[i] =
          tokens[static_cast<std::size_t>(step * batch * length + i + 1)];
    }
    auto logits = x;
    for (const auto& module : chain) logits = module.forward(logits);
    const auto loss = torch::nn::functional::cross_entropy(logits.view({-1, vocab}), y.view({-1}));
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(all, 1.0);
    optimizer.step();
    std::cout << loss.item<double>() << "\n";
  }
}
