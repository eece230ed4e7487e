// A loop of your own over a recipe: the learning rate halves when the held-out loss no longer
// falls, and training stops early. What loop.yaml asks for (gradient accumulation, recomputation,
// bf16, an optimizer with 8-bit states, ranks) needs no line here.
//
//   own-loop RECIPE [key=value ...]
#include <trainx/run.hpp>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

constexpr std::int64_t evaluation_every = 20;  // steps
constexpr int patience = 4;                    // evaluations without a better loss, then it stops
constexpr double first_rate = 4e-3;

int main(int argc, char** argv) {
  const std::string recipe = argc > 1 ? argv[1] : "loop.yaml";
  trainx::Run run(
      argc, argv, recipe,
      argc > 2 ? std::vector<std::string>(argv + 2, argv + argc) : std::vector<std::string>());

  double rate = first_rate, best = std::numeric_limits<double>::infinity();
  int worse = 0;
  run.set_lr(rate);
  while (const auto step = run.step()) {
    if (step->step % evaluation_every != 0) continue;
    const double loss = run.evaluate().loss;
    if (loss < best) {
      best = loss, worse = 0;
      run.save();
    } else if (++worse == patience) {
      break;
    } else {
      run.set_lr(rate /= 2);
    }
  }
  double squares = 0;
  for (const auto& [name, tensor] : run.parameters()) {  // called by all ranks
    const auto* x = tensor.const_data_ptr<float>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) squares += double{x[i]} * x[i];
  }
  if (run.rank() == 0)
    std::printf("best held-out loss %.4f, squared norm of the weights %.1f\n", best, squares);
  return run.close();
}
