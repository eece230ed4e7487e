#include "nesterov.hpp"
#include "points_file.hpp"
#include "sawtooth.hpp"
#include "surface.hpp"
#include "tensor_adamw.hpp"

int main(int argc, char** argv) {
  trainx::add_model<SurfaceOptions>("surface", "a function of four numbers", build_surface);
  trainx::add_optimizer<NesterovOptions>(
      "nesterov", "Nesterov's momentum, the example of an optimizer of your own", {{"velocity"}},
      nesterov);
  trainx::add_optimizer<TensorAdamWOptions>("tensor_adamw", "AdamW of LibTorch's operations",
                                            {{"exp_avg"}, {"exp_avg_sq"}}, tensor_adamw);
  trainx::add_schedule<SawtoothOptions>(
      "sawtooth", "lr that falls to a tenth, again and again, the example of a schedule", sawtooth);
  trainx::add_data_source<PointsOptions>("points", "Points from a file of float64 numbers",
                                         open_points);
  return trainx::worker_main(argc, argv);
}
