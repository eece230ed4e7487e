// Courses of the learning rate after warm-up: a struct each, and a line in the list.
// `has_final_ratio`: ends at final_ratio * lr. The last stands for those of the user's own.
#pragma once
#include "options/field.hpp"
#include "options/schedule/own.hpp"
#include <cstdint>
#include <variant>

namespace trainx::options {

struct ConstantSchedule {
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view summary = "Constant lr after warm-up";
  static constexpr bool has_final_ratio = false;
};
template <class Visitor>
void visit_fields(Visitor&, ConstantSchedule&) {}

struct LinearSchedule {
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view summary =
      "Straight line from lr to final_ratio * lr at the end";
  static constexpr bool has_final_ratio = true;
};
template <class Visitor>
void visit_fields(Visitor&, LinearSchedule&) {}

struct CosineSchedule {
  static constexpr std::string_view name = "cosine";
  static constexpr std::string_view summary =
      "Half a cosine from lr to final_ratio * lr at the end (Loshchilov & Hutter 2017, "
      "arXiv:1608.03983)";
  static constexpr bool has_final_ratio = true;
};
template <class Visitor>
void visit_fields(Visitor&, CosineSchedule&) {}

struct CosineRestartsSchedule {
  static constexpr std::string_view name = "cosine_restarts";
  static constexpr std::string_view summary =
      "Half cosines of equal length, each from lr to final_ratio * lr (arXiv:1608.03983)";
  static constexpr bool has_final_ratio = true;
  std::int64_t cycles = 2;
};
template <class Visitor>
void visit_fields(Visitor& field, CosineRestartsSchedule& o) {
  field("cycles", o.cycles, between(1, 1 << 20), "Half cosines between warm-up and the end");
}

enum class DecayShape : std::uint8_t { linear, cosine, one_minus_sqrt };
inline const EnumNames<DecayShape>& enum_names(DecayShape) {
  static const EnumNames<DecayShape> names{{DecayShape::linear, "linear"},
                                           {DecayShape::cosine, "cosine"},
                                           {DecayShape::one_minus_sqrt, "1-sqrt"}};
  return names;
}
struct WsdSchedule {
  static constexpr std::string_view name = "wsd";
  static constexpr std::string_view summary =
      "Warm-up, stable, decay: lr, then down to final_ratio * lr in the last steps (Hu et al. "
      "2024, arXiv:2404.06395, section 4)";
  static constexpr bool has_final_ratio = true;
  Auto<Duration> decay;  // auto: a tenth of the run
  DecayShape shape = DecayShape::one_minus_sqrt;
};
template <class Visitor>
void visit_fields(Visitor& field, WsdSchedule& o) {
  field("decay", o.decay, anything(),
        "Length of the decay at the end, in steps, epochs or tokens. auto: a tenth of "
        "run.duration");
  field("shape", o.shape, anything(),
        "Shape of the decay: linear, cosine, or 1-sqrt, which falls fast at first "
        "(arXiv:2405.18392)");
}

struct InverseSqrtSchedule {
  static constexpr std::string_view name = "inverse_sqrt";
  static constexpr std::string_view summary =
      "lr * sqrt(timescale / (steps after warm-up + timescale)) (Vaswani et al. 2017, "
      "arXiv:1706.03762)";
  static constexpr bool has_final_ratio = false;
  Auto<Duration> timescale;  // auto: the warm-up
};
template <class Visitor>
void visit_fields(Visitor& field, InverseSqrtSchedule& o) {
  field("timescale", o.timescale, anything(),
        "A third of the time in which lr halves after warm-up. auto: the length of the warm-up, "
        "or 10000 steps");
}

struct PolynomialSchedule {
  static constexpr std::string_view name = "polynomial";
  static constexpr std::string_view summary =
      "Remaining share of the steps ^ power, from lr to final_ratio * lr at the end";
  static constexpr bool has_final_ratio = true;
  double power = 1;
};
template <class Visitor>
void visit_fields(Visitor& field, PolynomialSchedule& o) {
  field("power", o.power, positive(), "Exponent; 1: a straight line");
}

struct RangeTestSchedule {
  static constexpr std::string_view name = "range_test";
  static constexpr std::string_view summary =
      "exponential rise from initial_ratio * lr to lr: a learning-rate range test, as `trainx "
      "bench lr` "
      "runs one (Smith 2017, arXiv:1506.01186)";
  static constexpr bool has_final_ratio = false;
  double initial_ratio = 1e-6;
};
template <class Visitor>
void visit_fields(Visitor& field, RangeTestSchedule& o) {
  field("initial_ratio", o.initial_ratio,
        Limits{"greater than 0 and less than 1", 0, 1, true, true},
        "first learning rate as a share of lr");
}

using ScheduleOptions = std::variant<ConstantSchedule, LinearSchedule, CosineSchedule,
                                     CosineRestartsSchedule, WsdSchedule, InverseSqrtSchedule,
                                     PolynomialSchedule, RangeTestSchedule, OwnSchedule>;

}  // namespace trainx::options
