// The predicted time of a step.
#include "core/units.hpp"
#include "plan/choose/offload.hpp"
#include "plan/explain/human_time.hpp"
#include "plan/explain/printed.hpp"
#include "plan/explain/products.hpp"
#include "plan/explain/report_sections.hpp"
#include "plan/explain/run_length.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

/// Does a step copy between the device and the host?
bool copies_in_steps(const program::StepProgram& p) {
  return std::ranges::any_of(p.steady, [](const program::Instruction& i) {
    return i.lane == program::Lane::copy_in || i.lane == program::Lane::copy_out;
  });
}

std::string rates_words(const RunPlan& plan) {
  if (!plan.rates_are_estimated) return "time, predicted from measured rates";
  return "time, estimated from data sheets: " +
         (plan.published_error > 0
              ? "published speeds of such GPUs lie within " +
                    printed("%.0f", 100 * plan.published_error) + " % of such estimates"
              : std::string("never compared with a run on such a GPU"));
}

/// Tells the time of a plan that has one.
class TimeFacts {
 public:
  TimeFacts(const RunPlan& plan, ReportSection& section)
      : plan_(plan), t_(*plan.time), rates_(*plan.rates), s_(section) {}

  void step(double price_per_gpu_hour) {
    const RunLength length = run_length(plan_);
    const double per_second = static_cast<double>(plan_.tokens_per_step) / t_.step_s;
    std::string text = human_time(t_.step_s) + ", " + human_count(per_second) + " tokens/s" +
                       (length.counts_padding ? " with padding" : "");
    if (unknown_copies_)
      text += offloads_optimizer(plan_) && !known_updates_
                  ? ", assuming that host copies and updates take no longer"
                  : ", assuming that host copies take no longer";
    s_.both("time/step_ms", t_.step_s * 1e3, row("step", text));
    s_.give("time/tokens_per_second", per_second);
    if (plan_.total_steps > 0 || plan_.total_seconds > 0)
      s_.tell(row("whole run", describe(length, price_per_gpu_hour) +
                                   "; evaluations and checkpoints come on top"));
  }

  void computation() {
    s_.both("time/gemm_ms", t_.gemm_s * 1e3,
            row("matrix products", human_time(t_.gemm_s) + describe_fp8_rate(plan_)));
    s_.both("time/attention_ms", t_.attention_s * 1e3,
            row("attention", human_time(t_.attention_s)));
    s_.both("time/memory_ms", t_.memory_s * 1e3, row("memory traffic", human_time(t_.memory_s)));
    s_.both("time/measured_ms", t_.measured_s * 1e3,
            t_.measured_s > 0
                ? row("modules of your own",
                      human_time(t_.measured_s) + ", measured: one micro-batch on this GPU")
                : "");
    // then what the GPU does not compute in is the host's time to launch
    const bool launched_one_by_one = rates_.host_kernel_s > 0;
    const double computing_s = launched_one_by_one ? t_.step_s : busy(program::Lane::compute);
    if (const double rest = computing_s - t_.gemm_s - t_.attention_s - t_.memory_s - t_.measured_s;
        rest > 0)
      s_.tell(row("starting kernels", human_time(rest)));
    if (const double waits = t_.step_s - computing_s; waits > 5e-5)
      s_.tell(row("waiting", human_time(waits) + ", for copies and collectives"));
  }

  /// What the host and the disk do beside the computation.
  void beside() {
    if (copies_ && rates_.host_bytes_per_s > 0)
      s_.tell(row("copies to the host", human_time(busy(program::Lane::copy_out)) + " out, " +
                                            human_time(busy(program::Lane::copy_in)) +
                                            " back, beside the computation"));
    const auto rate = [](double bytes_per_s) {
      return human_bytes(static_cast<std::int64_t>(bytes_per_s)) + "/s";
    };
    s_.both("time/disk_ms", busy(program::Lane::disk) * 1e3,
            plan_.memory.disk_bytes > 0 && rates_.disk_bytes_per_s > 0
                ? row("transfers with the disk", human_time(busy(program::Lane::disk)) + " at " +
                                                     rate(rates_.disk_bytes_per_s) +
                                                     ", in part beside the computation")
                : "");
    std::string text;
    if (offloads_optimizer(plan_) && (known_updates_ || !unknown_copies_))
      text = row("updates on the host",
                 human_time(busy(program::Lane::host)) +
                     (known_updates_
                          ? " at " + rate(rates_.host_update_bytes_per_s) + " of the CPU's memory"
                          : ", if the CPU's memory is as fast as the copies: it was not measured"));
    s_.both("time/host_ms", busy(program::Lane::host) * 1e3, text);
  }

  void bound() {
    s_.both("time/bottleneck", t_.bottleneck, row("bound by", t_.bottleneck));
    s_.give("rates", plan_.rates_are_estimated ? "estimated" : "measured");
    if (plan_.rates_are_estimated)
      s_.give("rates_error", plan_.published_error > 0 ? nlohmann::json(plan_.published_error)
                                                       : nlohmann::json(nullptr));
  }

 private:
  double busy(program::Lane lane) const { return t_.busy_s[static_cast<std::size_t>(lane)]; }

  const RunPlan& plan_;
  const program::TimePrediction& t_;
  const program::Rates& rates_;
  ReportSection& s_;
  const bool copies_ = copies_in_steps(plan_.role().train.back().program),
             unknown_copies_ = copies_ && rates_.host_bytes_per_s <= 0,
             known_updates_ = rates_.host_update_bytes_per_s > 0;
};

}  // namespace

ReportSection time_section(const RunPlan& plan, double price_per_gpu_hour) {
  ReportSection s;
  if (!plan.time) return s;
  s.heading = rates_words(plan);
  TimeFacts facts(plan, s);
  facts.step(price_per_gpu_hour);
  facts.computation();
  facts.beside();
  facts.bound();
  return s;
}

}  // namespace trainx::plan
