// An exported module's graph on the device that it computes on.
#pragma once
#include "exported/call.hpp"
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <string>
#include <vector>

namespace trainx::exported {

/// Everything that calls read beside operands lies on the device when they are made, so that a
/// CUDA graph can hold a run: nothing is copied from the host then.
class PlacedGraph {
 public:
  /// `constants`: of the host.
  PlacedGraph(const PreparedGraph& graph, const std::vector<at::Tensor>& constants,
              const at::Device& device);

  const at::Device& device() const { return device_; }
  /// Names of what is called, in order.
  std::vector<std::string> operators() const;
  /// `operands`: inputs, then parameters. Throws c10::Error as operators do.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& operands, bool training) const;

 private:
  at::Device device_;
  PreparedGraph graph_;
  std::vector<at::Tensor> constants_;
};

}  // namespace trainx::exported
