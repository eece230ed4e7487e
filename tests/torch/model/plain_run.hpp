// Runs a program's block instructions one after another in list order, each buffer an array of its
// own that starts as NaN.
#pragma once
#include <ATen/core/Tensor.h>
#include "model/model.hpp"
#include "program/plain.hpp"
#include <cstdint>
#include <map>
#include <string>

namespace trainx::model::test {

struct PlainRun {
  program::ModelGraph graph;
  program::StepProgram program;
  Blocks blocks;
  std::map<std::string, at::Tensor> memory;  // by buffer name, bytes as u8; scratch shares names
  Mode mode = Mode::train;
  std::uint64_t seed = 1;
  double loss_seed = 1;
  /// What fp16 losses are multiplied by: gradients carry it.
  double loss_scale() const { return graph.compute == DType::f16 ? 256 : 1; }

  /// Training step of `graph`, passes applied by the caller to `program`.
  PlainRun(const architectures::ModelDims& dims, program::ModelGraph graph,
           program::StepProgram program);
  /// The buffer as a tensor of its declared type; flat.
  at::Tensor buffer(const std::string& name, DType dtype);
  /// Weights, from initialize_parameters with larger biases so that no gradient is hidden.
  void fill_parameters(std::uint64_t seed);
  /// All samples as long as their rows; of classes the labels lie within.
  void fill_batch(std::uint64_t seed, std::int64_t vocab_size, double share_without_target);
  /// One step without its optimizer.
  void run();
  /// The same with each buffer at its address, elsewhere than in `memory`.
  void run_at(const std::vector<void*>& addresses, Place place);
  /// By index, bytes as u8.
  const std::vector<at::Tensor>& buffers() const { return by_buffer_; }
  /// The weight or gradient ("w.", "g.") of each parameter by its Hugging Face name, in its dims.
  /// What is not trained has no gradient.
  std::map<std::string, at::Tensor> parameters(const std::string& prefix, DType dtype);

 private:
  std::vector<at::Tensor> by_buffer_;
};

}  // namespace trainx::model::test
