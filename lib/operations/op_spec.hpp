// What an operation says about itself: shapes, what its backward reads, what it costs. The planner
// sees nothing else of it. No LibTorch and no memory: files called *_spec are all that planning
// links of this folder.
#pragma once
#include "core/dtype.hpp"
#include "program/model_graph.hpp"
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace trainx::operations {

class OpContext;  // op_context.hpp

/// Without dims: an operand that is not there.
struct TensorType {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  bool defined() const { return !dims.empty(); }
  bool operator==(const TensorType&) const = default;
  std::int64_t elements() const;
  double bytes() const { return static_cast<double>(elements() * size_of(dtype)); }
  std::int64_t rows() const { return dims.front(); }
  std::int64_t columns() const { return elements() / dims.front(); }
};

/// An operand of an operation.
struct OperandId {
  enum class Kind : std::uint8_t { input, output, parameter } kind;
  int index;
  bool operator==(const OperandId&) const = default;
};
constexpr OperandId input(int i) { return {OperandId::Kind::input, i}; }
constexpr OperandId output(int i) { return {OperandId::Kind::output, i}; }
constexpr OperandId parameter(int i) { return {OperandId::Kind::parameter, i}; }

/// What an operation is applied to, and on what it is computed.
struct Types {
  std::vector<TensorType> inputs, parameters;
  DType compute = DType::f32;
  bool gpu = false;
  // what backward makes no gradient of; shorter: of the others it does
  std::vector<char> constant_inputs = {}, frozen_parameters = {};
  bool wants_gradient(int input) const {
    const auto i = static_cast<std::size_t>(input);
    return i >= constant_inputs.size() || !constant_inputs[i];
  }
  bool trains(int parameter) const {
    const auto p = static_cast<std::size_t>(parameter);
    return p >= frozen_parameters.size() || !frozen_parameters[p];
  }
  bool has_input(int i) const {
    return static_cast<std::size_t>(i) < inputs.size() &&
           inputs[static_cast<std::size_t>(i)].defined();
  }
  bool has_parameter(int i) const {
    return static_cast<std::size_t>(i) < parameters.size() &&
           parameters[static_cast<std::size_t>(i)].defined();
  }
  /// A CPU computes in bf16 or fp16: its products leave sums of 16 bits.
  bool host_16_bits() const { return compute != DType::f32 && !gpu; }
};

struct OutputSpec {
  std::string_view name;
  TensorType type;                                // without dims: this operation has no such output
  std::vector<OperandId> from;                    // what it is computed from
  bool cheap = false;                             // selective activation recomputation drops it
  program::Space space = program::Space::device;  // library: kept by LibTorch, if it is saved
};

/// The gradient of one input.
struct InputGradient {
  int input = 0;
  int same_as = program::none;  // it equals that input's gradient and takes no memory of its own
  int over = program::none;     // it may be written over that output's gradient
  bool comes_along = false;     // it is made wherever backward runs, whether it is wanted or not
  bool unused = false;          // ... and it is not wanted
};

/// What backward reads beside the gradients of outputs, and what it writes.
struct BackwardSpec {
  std::vector<OperandId> reads;
  std::vector<InputGradient> inputs;
  std::vector<int> parameters;  // that get a gradient
  int changes = program::none;  // the output whose gradient is changed in place
  bool is_needed() const { return !inputs.empty() || !parameters.empty(); }
};

/// Without gradients of constants and frozen parameters; empty where no other is left.
BackwardSpec only_wanted(BackwardSpec all, const Types& t);

enum class Direction : std::uint8_t { forward, backward };

using program::KernelFamily;
using program::KernelLaunches;

/// Products of attention: FLOPs of those that are computed, rows of all heads, elements of a head.
struct AttentionCost {
  double flops = 0;
  std::int64_t rows = 0, head_size = 0;
  bool fused = true;  // else scores lie in memory
  bool own = false;   // of a GPU, by trainx's kernels where a library has none
  double keys = 0;    // that a row sees, on average
  bool causal = false;
  bool hopper = false;  // by trainx's kernels for Hopper
  bool dropped = false;
  bool wide_library = false;  // by a library's kernels that take heads above 128
};

struct ScratchSpec {
  std::string_view name;
  TensorType type;  // without dims: not needed
  // the parameter that this scratch is computed from: forward computes it once a step, and all
  // micro-steps read it (Role::cast_weight)
  int of_parameter = program::none;
  bool for_backward = false;  // only backward reads such scratch
  // the parameter is not trained: run_weight_casts computes it once a run, and forward reads it
  bool once_a_run = false;
};

/// Cost of the cast of a parameter into such scratch.
struct ParameterCastCost {
  int scratch = program::none, parameter = program::none;
  std::int64_t kernels = 0;    // in Cost::kernels, too
  double parameter_bytes = 0;  // of the parameter, once
  double bytes = 0;            // that go over memory
};

/// Work of one direction. `outputs_of`: the output that a product or attention makes; forward is
/// recomputed only as far as outputs are.
struct Cost {
  struct Product {
    program::Gemm gemm;
    int output = program::none;
  };
  std::vector<Product> products;
  std::optional<AttentionCost> attention;
  int attention_output = program::none;
  std::vector<KernelLaunches> kernels;
  std::vector<ScratchSpec> scratch;
  std::vector<ParameterCastCost> parameter_casts;
  // beside products; of attention its operands' bytes
  double element_flops = 0, element_bytes = 0;
  int element_output = program::none;  // that this work makes
  double measured_s = 0;               // of code of the user's own: instead of all the above
};

/// How an operation is cut over ranks along an axis of its own.
enum class SplitAxis : std::uint8_t { column, row, heads };
struct Split {
  std::vector<std::optional<int>> parameters;  // the dimension that is cut; none: whole
  bool sums_outputs = false;  // outputs of the parts add up; else they are parts of the output
  bool sums_inputs = false;   // input gradients of the parts add up
};

}  // namespace trainx::operations
