// Where a step's work lies: contractions, attention, normalisations, element-wise operations, by
// arithmetic and as measured.
#pragma once
#include "core/work.hpp"
#include "plan/run_plan.hpp"
#include <cstdint>
#include <map>

namespace trainx::plan {

/// By compute intensity, as in Ivanov et al. 2020 (Data Movement Is All You Need,
/// arXiv:2007.00072). Attention is both contraction and softmax where it is one kernel.
/// statistical: what reduces and maps, that is norms with the sums before them, the loss's softmax,
/// sums of bias gradients.
enum class Operations : std::uint8_t {
  contractions,
  attention,
  statistical,
  element_wise,
  optimizer,
  other
};
/// loss: the last block, which does forward and backward in one.
enum class Direction : std::uint8_t { forward, loss, recompute, backward, update, other };
std::string_view name_of(Operations operations);
std::string_view name_of(Direction direction);
Operations operations_of(Work work);
Direction direction_of(program::Op op);

/// Operations and the bytes that they go over memory for at least, each operand once.
struct Arithmetic {
  double flops = 0, bytes = 0;
};
using OperationKey = std::pair<Direction, Operations>;
/// Of the plan's longest training step.
std::map<OperationKey, Arithmetic> arithmetic_of(const RunPlan& plan);

struct OperationRow {
  OperationKey key;
  Arithmetic arithmetic;
  double ms = 0;  // measured, of a step
};
std::vector<OperationRow> operation_rows(const RunPlan& plan,
                                         const std::map<OperationKey, double>& measured_ms);

/// `step_ms`: of the timed step; what the rows leave of it are gaps between operations.
std::string describe_operations(const RunPlan& plan, const std::vector<OperationRow>& rows,
                                double step_ms);
nlohmann::json operations_json(const RunPlan& plan, const std::vector<OperationRow>& rows,
                               double step_ms);

}  // namespace trainx::plan
