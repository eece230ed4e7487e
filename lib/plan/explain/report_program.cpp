// Expected kernels, the program and notes.
#include "core/units.hpp"
#include "hardware/support.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/explain/report_sections.hpp"
#include "program/print.hpp"

namespace trainx::plan {
namespace {

/// Of a step, those of micro-steps that the plan leaves out too.
std::int64_t instructions_of(const program::StepProgram& p) {
  std::int64_t count = 0;
  for (const program::Instruction& i : p.steady) count += program::times(p, i);
  return count;
}

std::string exact_weights_words(const std::string& kept) {
  if (kept == "Fp32Weights") return "fp32 weights";
  if (kept == "SplitWeights") return "bf16 weights and their low 16 bits";
  if (kept == "Bf16Weights") return "bf16 weights alone";
  if (kept == "StochasticWeights") return "bf16 weights alone, rounded stochastically";
  return kept == "HalfWeights" ? "fp32 master beside fp16 weights"
                               : "fp32 master beside bf16 weights";
}

/// What moves to the host and is updated there.
void tell_host_work(const ExpectedKernels& expected, ReportSection& s) {
  if (expected.offloaded_bytes > 0)
    s.tell(row("copied to the host",
               "at least " + human_bytes(expected.offloaded_bytes) + ", and back"));
  if (expected.host_updates > 0)
    s.tell(row("updates on the host",
               std::to_string(expected.host_updates) + ", of gradients of " +
                   human_bytes(expected.gradients_out_bytes) +
                   (expected.gradients_rounded > 0 ? " in bf16" : "") +
                   (expected.weights_back_bytes > 0 ? ", which come back as weights of " +
                                                          human_bytes(expected.weights_back_bytes)
                                                    : "")));
  if (expected.parameters_in_bytes > 0)
    s.tell(row("weights from the host",
               "at least " + human_bytes(expected.parameters_in_bytes) + " in" +
                   (expected.parameters_out_bytes > 0
                        ? ", " + human_bytes(expected.parameters_out_bytes) + " back"
                        : "")));
}

}  // namespace

ReportSection kernels_section(const RunPlan& plan) {
  ReportSection s{"kernels expected in each step, compared with those that run", {}};
  if (!plan.on_gpu || hardware::why_never_supported("", plan.compute_capability)) return s;
  const program::ModelGraph& graph = plan.role().train.back().graph;
  const ExpectedKernels expected = expected_kernels(plan, graph, graph.target_rows);
  s.tell(row("fused attention", expected.attention == AttentionKind::math
                                    ? "none: its products are among the others"
                                    : std::to_string(expected.attention_forward) + " forward, " +
                                          std::to_string(expected.attention_backward) +
                                          " backward"));
  s.tell(row("matrix products",
             std::to_string(expected.matrix_products) +
                 (expected.products_recomputed ? " and those that are recomputed" : "") +
                 (expected.fp8_products > 0
                      ? ", " + std::to_string(expected.fp8_products) + " of them in fp8"
                      : "")));
  if (expected.fp8_casts > 0) s.tell(row("casts to fp8", std::to_string(expected.fp8_casts)));
  s.tell(row("norms recomputed", std::to_string(expected.norms_recomputed)));
  if (expected.update_launches > 0)
    s.tell(row("updates in backward",
               std::to_string(expected.update_launches) + " launches of the optimizer"));
  tell_host_work(expected, s);
  s.tell(row("exact weights", exact_weights_words(expected.weights)));
  return s;
}

ReportSection program_section(const RunPlan& plan, bool with_program) {
  ReportSection s{"program", {}};
  const PlacedProgram& placed = plan.role().train.back();
  const program::StepProgram& p = placed.program;
  if (plan.row_lengths.size() > 1) {
    std::string lengths;
    for (const std::int64_t l : plan.row_lengths)
      lengths += (lengths.empty() ? "" : ", ") + std::to_string(l);
    s.tell(row("row lengths", lengths +
                                  ": one program each, in one arena; a step uses the shortest that "
                                  "fits its longest sample"));
  }
  const std::int64_t instructions = instructions_of(p);
  s.both("instructions", instructions,
         row("instructions", std::to_string(instructions) + " over " +
                                 std::to_string(p.buffers.size()) +
                                 " buffers, checked against the sequential reference"));
  if (p.repeats > 0)
    s.tell(row("micro-steps", "micro-step " + std::to_string(p.repeated_micro) +
                                  " of the program stands for " + std::to_string(p.repeats) +
                                  " more like it"));
  if (with_program) {
    const std::string printed_program = program::print(p, &placed.graph);
    s.both("program", printed_program, printed_program);
  } else {
    s.tell(row("", "(--program prints it)"));
  }
  s.give("fingerprint", fingerprint(plan));
  return s;
}

ReportSection notes_section(const RunPlan& plan) {
  ReportSection s;
  std::string text;
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  s.both("notes", plan.notes, text);
  return s;
}

}  // namespace trainx::plan
