// What `trainx train` does for images.yaml, written as a loop of LibTorch: prints the loss and the
// accuracy of each step, then those of the held-out images.
#include "../plain/plain.hpp"
#include "classifier.hpp"

int main(int argc, char** argv) {
  const plain::Settings s = plain::settings(argc, argv);
  torch::manual_seed(s.seed);
  ClassifierOptions o;
  o.batch_norm = s.variant == "batch_norm";
  const std::int64_t pixels = o.channels * o.size * o.size;
  plain::train(s, build_classifier(o, {}), pixels + 1, [&](const torch::Tensor& lines) {
    const auto image = lines.narrow(1, 0, pixels).view({-1, o.channels, o.size, o.size});
    return plain::Values{{"image", image}, {"label", lines.select(1, pixels).to(torch::kLong)}};
  });
}
