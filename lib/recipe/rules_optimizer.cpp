// Precision, the optimizer and when it updates.
#include "recipe/rule_set.hpp"
#include <initializer_list>

namespace trainx::recipe {
namespace {

class OptimizerRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    precision();
    products();
    optimizer();
    update_in_backward();
  }

 private:
  void precision() {
    const PrecisionSection& p = r_.precision;
    const bool half = p.compute == Compute::fp16;
    const std::string compute = "compute: " + std::string(p.compute == Compute::fp32   ? "fp32"
                                                          : p.compute == Compute::tf32 ? "tf32"
                                                                                       : "bf16");
    refuse(p.compute != Compute::bf16 && !half && !p.master.is_auto(), "precision.master",
           {"precision.compute"},
           "can have no effect with " + compute +
               ", whose weights are exact: remove it, or write auto");
    if (half && !p.master.is_auto()) {
      refuse(*p.master.value == MasterWeights::split, "precision.master", {"precision.compute"},
             "split cannot complete compute: fp16, whose exponents are not those of fp32: write "
             "fp32, or compute: bf16");
      refuse(trains_ && *p.master.value == MasterWeights::none, "precision.master",
             {"precision.compute"},
             "none loses updates below 2^-11 of a weight with compute: fp16, and no rounding "
             "brings them back: write fp32, or compute: bf16");
    }
    const bool alone = p.compute == Compute::bf16 && !p.master.is_auto() &&
                       *p.master.value == MasterWeights::none,
               stochastic = p.rounding == Rounding::stochastic;
    refuse(stochastic && !alone, "precision.rounding", {"precision.compute", "precision.master"},
           "stochastic can have no effect without precision: {compute: bf16, master: none}: other "
           "weights are exact, rounding loses nothing of them");
    const auto* any = std::get_if<options::AdamWAnyPrecisionOptions>(&r_.optimizer.options);
    refuse(stochastic && any && any->use_kahan_summation, "precision.rounding",
           {"optimizer.type", "optimizer.options.use_kahan_summation"},
           "stochastic cannot go together with optimizer.options.use_kahan_summation, which makes "
           "up for what rounding to nearest takes: leave one of them out");
    const std::string unscaled =
        "can have no effect with " + compute +
        ", whose gradients do not vanish: remove it, or write compute: fp16";
    refuse(!half && !p.loss_scale.is_auto(), "precision.loss_scale", {"precision.compute"},
           unscaled);
    const std::string fixed =
        "can have no effect with a loss_scale that never changes: remove it, or write loss_scale: "
        "auto";
    for (const auto& [key, written] :
         {std::pair{"precision.initial_loss_scale",
                    p.initial_loss_scale != PrecisionSection{}.initial_loss_scale},
          std::pair{"precision.loss_scale_window",
                    p.loss_scale_window != PrecisionSection{}.loss_scale_window}}) {
      refuse(!half && written, key, {"precision.compute"}, unscaled);
      refuse(half && !p.loss_scale.is_auto() && written, key, {"precision.loss_scale"}, fixed);
    }
  }

  void products() {
    const PrecisionSection& p = r_.precision;
    const bool fp8 = p.products == Products::fp8;
    refuse(!fp8 && !p.first_last.is_auto(), "precision.first_last", {"precision.products"},
           "can have no effect without products: fp8: remove it, or write products: fp8");
    refuse(!fp8 && p.small_products != Products::compute, "precision.small_products",
           {"precision.products"},
           "can have no effect without products: fp8: remove it, or write products: fp8");
    refuse(!fp8 && p.scaling != Scaling::current, "precision.scaling", {"precision.products"},
           "can have no effect without products: fp8: remove it, or write products: fp8");
    const bool delayed = p.scaling == Scaling::delayed;
    for (const auto& [key, written] :
         {std::pair{"precision.fallback", p.fallback != PrecisionSection{}.fallback},
          std::pair{"precision.fallback_window",
                    p.fallback_window != PrecisionSection{}.fallback_window}})
      refuse(
          written && !delayed, key, {"precision.scaling"},
          "can have no effect without scaling: delayed, because scales of the values at hand cut "
          "nothing: remove it, or write scaling: delayed");
    refuse(fp8 && p.compute == Compute::fp16, "precision.products", {"precision.compute"},
           "fp8 cannot go together with compute: fp16, whose one loss scale keeps all gradients in "
           "range, while fp8 scales each tensor: write compute: bf16 or fp32");
    refuse(fp8 && std::holds_alternative<options::CustomOptions>(r_.model.options),
           "precision.products", {"model.type"},
           "fp8 can have no effect with " + alternative_name(r_.model.options) +
               ", whose modules multiply themselves: remove it");
  }

  void groups() {
    for (std::size_t k = 0; k < r_.optimizer.groups.size(); ++k) {
      const ParameterGroup& group = r_.optimizer.groups[k];
      const std::string key = "optimizer.groups[" + std::to_string(k) + "]";
      const bool sets = group.freeze || group.lr || group.lr_scale || group.weight_decay;
      refuse(!sets, key, {},
             "sets nothing for " + group.match +
                 ": give it freeze, lr, lr_scale or weight_decay, or remove it");
      refuse(group.lr && group.lr_scale, key + ".lr_scale", {key + ".lr"},
             "cannot go together with lr, which it would be a factor of: remove one");
      const auto* adafactor = std::get_if<options::AdafactorOptions>(&r_.optimizer.options);
      refuse(group.lr && adafactor && adafactor->relative_step, key + ".lr",
             {"optimizer.type", "optimizer.options.relative_step"},
             "can have no effect with optimizer.options.relative_step: true, by which Adafactor "
             "makes its own: write lr_scale");
      refuse(group.lr && r_.optimizer.lr == 0, key + ".lr", {"optimizer.lr"},
             "needs optimizer.lr greater than 0, whose schedule it follows");
      auto chosen = r_.optimizer.options;
      refuse(group.weight_decay &&
                 !std::visit([](auto& o) { return options::weight_decay_of(o); }, chosen),
             key + ".weight_decay", {"optimizer.type"},
             "can have no effect with optimizer.type " + alternative_name(chosen) +
                 ", which has no option weight_decay: remove it");
      refuse(group.freeze.value_or(false) && (group.lr || group.lr_scale || group.weight_decay),
             key + ".freeze", {key + ".lr", key + ".lr_scale", key + ".weight_decay"},
             "cannot go together with lr, lr_scale or weight_decay: frozen parameters get no "
             "update");
    }
  }

  void optimizer() {
    groups();
    if (const auto* sgd = std::get_if<options::SgdOptions>(&r_.optimizer.options))
      refuse(sgd->nesterov && sgd->momentum == 0, "optimizer.options.nesterov",
             {"optimizer.type", "optimizer.options.momentum"},
             "needs optimizer.options.momentum greater than 0");
    if (const auto* adafactor = std::get_if<options::AdafactorOptions>(&r_.optimizer.options))
      of_adafactor(*adafactor);
    if (const auto* bytes = std::get_if<options::AdamW8bitOptions>(&r_.optimizer.options))
      refuse(bytes->embeddings_32bit &&
                 std::holds_alternative<options::CustomOptions>(r_.model.options),
             "optimizer.options.embeddings_32bit", {"optimizer.type", "model.type"},
             "can have no effect with model.type " + alternative_name(r_.model.options) +
                 ": no tensor of a model of your own is known as an embedding; "
                 "optimizer.options.min_8bit_size tells tensors by size");
    if (const auto* any = std::get_if<options::AdamWAnyPrecisionOptions>(&r_.optimizer.options)) {
      const bool alone = r_.precision.compute == Compute::bf16 && !r_.precision.master.is_auto() &&
                         *r_.precision.master.value == MasterWeights::none;
      refuse(any->use_kahan_summation && !alone, "optimizer.options.use_kahan_summation",
             {"optimizer.type", "precision.compute", "precision.master"},
             "can have no effect without precision: {compute: bf16, master: none}: other weights "
             "are exact, there is nothing to compensate");
    }
  }

  /// Each update comes before backward is done: nothing that needs all gradients at once (clipping,
  /// their sum over micro-steps, the steps that a loss scale skips) goes together with it.
  /// Optimizers all do: none looks beyond a tensor.
  void update_in_backward() {
    if (!r_.optimizer.update_in_backward) return;
    const std::string key = "optimizer.update_in_backward";
    refuse(r_.optimizer.max_grad_norm > 0, key, {"optimizer.max_grad_norm"},
           "cannot go together with optimizer.max_grad_norm (" +
               write_value(r_.optimizer.max_grad_norm) +
               "): clipping needs the norm of all gradients before the first update: write "
               "optimizer.max_grad_norm: 0, or leave update_in_backward out");
    refuse(r_.precision.compute == Compute::fp16, key, {"precision.compute"},
           "cannot go together with precision.compute: fp16, whose steps are skipped where any "
           "gradient overflows, when the first weights are updated already: write compute: bf16, "
           "or leave update_in_backward out");
    const auto &global = r_.batch.global_batch_size, &micro = r_.batch.micro_batch_size.value,
               &accum = r_.batch.grad_accum_steps;
    const std::int64_t of_rank = global ? *global / batches().value_or(1) : 0;
    // else planning tells
    const bool known = accum || r_.parallel.world_size.value || mode_is(ParallelMode::single);
    const std::int64_t micro_steps = accum                                      ? *accum
                                     : global && micro && of_rank % *micro == 0 ? of_rank / *micro
                                                                                : 1;
    refuse(known && micro_steps > 1, key,
           {"batch", "batch.global_batch_size", "batch.micro_batch_size", "batch.grad_accum_steps"},
           "cannot go together with batch.grad_accum_steps (" + std::to_string(micro_steps) +
               "): the gradients of all micro-steps are summed first, so none could be freed "
               "early: write batch.grad_accum_steps: 1, or leave update_in_backward out");
  }

  void of_adafactor(const options::AdafactorOptions& o) {
    const std::string own =
        "can have no effect with optimizer.options.relative_step: true, by which Adafactor makes "
        "its own step sizes: leave it out, or write relative_step: false";
    const std::initializer_list<std::string> also{"optimizer.type",
                                                  "optimizer.options.relative_step"};
    refuse(o.relative_step && r_.optimizer.lr != OptimizerSection{}.lr, "optimizer.lr", also, own);
    refuse(
        o.relative_step && !std::holds_alternative<options::ConstantSchedule>(r_.schedule.course),
        "schedule.type", also, own);
    refuse(o.relative_step && r_.schedule.warmup.amount > 0, "schedule.warmup", also, own);
    refuse(o.relative_step && r_.run.duration.unit == Duration::Unit::seconds, "run.duration", also,
           "cannot be in time with optimizer.options.relative_step: true, whose step sizes follow "
           "from the step: give steps, epochs or tokens, or write relative_step: false");
    refuse(o.warmup_init && !o.relative_step, "optimizer.options.warmup_init", also,
           "can have no effect with optimizer.options.relative_step: false: schedule.warmup is "
           "what there is then");
    refuse(!o.scale_parameter && o.eps2 != options::AdafactorOptions{}.eps2,
           "optimizer.options.eps2", {"optimizer.type", "optimizer.options.scale_parameter"},
           "can have no effect with optimizer.options.scale_parameter: false");
  }
};

}  // namespace

void check_optimizer_rules(const RuleContext& context) { OptimizerRules(context).check(); }

}  // namespace trainx::recipe
