#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

namespace trainx {

/// Elements of parameters, in one step, for an update rule that computes with tensors: on the
/// device where they lie. All are owned by trainx and valid during the call.
struct UpdateTensors {
  // f32 [elements] each, contiguous
  at::Tensor parameter;  // exact weights, whatever precision.compute is: to be updated in place
  at::Tensor gradient;   // of the step's mean loss, after clipping; may be overwritten
  std::vector<at::Tensor> states;  // in the order of their declaration: to be updated in place
  // f64, a number each (no dimensions), on the same device: a rule that does not read them on the
  // host can be replayed in a CUDA graph, where they change from step to step
  at::Tensor lr;    // of the step and the parameters' group
  at::Tensor step;  // counts updates: 1 in the first one
  // of the parameters' group, the same in all steps; 0 for parameters that do not decay, and where
  // the optimizer has no option weight_decay
  double weight_decay = 0;
  // the cudaStream_t that LibTorch's operators go to, for kernels of one's own; null on a CPU
  void* stream = nullptr;
};

}  // namespace trainx
