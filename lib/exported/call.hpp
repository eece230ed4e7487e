// Nodes of a graph, held against LibTorch's operators and ready to be called.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::exported {

/// An argument that is ready: a constant, a value, or a list of these.
struct Slot {
  enum class List : std::uint8_t { none, integers, reals, booleans, tensors, optional_tensors };
  c10::IValue constant;
  std::int64_t value = -1;
  List list = List::none;
  std::vector<Slot> items = {};
  bool wraps_number = false;  // a number where a tensor is wanted
};

struct Call {
  // operator of ATen; none: a number made of numbers
  std::optional<c10::OperatorHandle> op;
  std::string scalar;
  // in place of the operator: from the arguments on the stack to the results
  void (*fused)(std::vector<c10::IValue>& stack) = nullptr;
  std::vector<Slot> slots;
  std::vector<std::int64_t> outputs, frees;  // values
  bool returns_list = false;
  std::int64_t drawing = -1;  // slot that decides whether it draws
  c10::IValue in_evaluation;  // of that slot
  std::int64_t device = -1;   // slot that says where its result lies
  // of attention: slots whose tensors have gradients in training; LibTorch chooses kernels by that
  std::vector<std::size_t> differentiable = {};
  bool has_own_bias = false;  // attention whose bias has a gradient, on a CPU
};

/// The calls of a module, of no device yet. Values are its operands, its constants, and what calls
/// make.
struct PreparedGraph {
  std::vector<at::ScalarType> operand_types;
  std::vector<Call> calls;
  std::vector<std::int64_t> results;  // values
  std::size_t values = 0;
};

/// Writes down what attention differentiates.
void find_differentiable(PreparedGraph& graph);

/// Writes down which values each call reads last.
void find_frees(PreparedGraph& graph);

}  // namespace trainx::exported
