#include "gpu/update_case.hpp"
#include "kernels/optimizer/adagrad.hpp"
#include "kernels/optimizer/adam.hpp"
#include "kernels/optimizer/adamw_anyprecision.hpp"
#include "kernels/optimizer/lion.hpp"

namespace update_rules_test {

using namespace trainx::kernels;

namespace {

float momentum(std::size_t i) { return static_cast<float>((noise(i) - 0.5) * 0.02); }
float variance(std::size_t i) { return static_cast<float>(noise(i) * 0.01); }
Bf16 in_bf16(float x) {
  Bf16 y;
  narrow(x, y);
  return y;
}

using Kept = std::function<std::vector<std::vector<StateBytes>>(const std::vector<std::int64_t>&)>;

/// Every size, kind and alignment; then ten repeats, and a norm that is not finite.
template <class Settings, class Kernel, class Reference>
void check_rule(const Settings& settings, const Kept& kept, Kernel kernel, Reference reference,
                bool bf16_alone = false) {
  for (const auto& sizes : update_sizes())
    for (const WeightKind kind : all_weight_kinds) {
      if (bf16_alone && kind != WeightKind::bf16) continue;
      UpdateCase c(sizes);
      c.states = kept(sizes);
      const auto run_reference = [&](const UpdateTable& table, const UpdateScalars& scalars) {
        reference(table, kind, scalars, settings);
      };
      const auto run_kernel = [&](const UpdateTable& table, const UpdateScalars& scalars) {
        return kernel(table, kind, scalars, settings, nullptr);
      };
      for (const std::size_t shift : {0u, 1u}) {
        INFO("elements " << sizes[0] + sizes[1] << " kind " << static_cast<int>(kind) << " shift "
                         << shift);
        const UpdateResult want = on_host(c, kind, run_reference);
        check_same(on_device(c, kind, shift, run_kernel), want);
        if (sizes[0] > 100'000)
          for (int repeat = 0; repeat < 10; ++repeat)
            check_same(on_device(c, kind, shift, run_kernel), want);
      }
      for (const double norm2 :
           {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        c.norm2 = norm2;
        check_same(on_device(c, kind, 0, run_kernel), on_host(c, kind, [](const auto&...) {}));
      }
    }
}

}  // namespace

TEST_CASE("the adam kernel gives the bits of its reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Kept kept = [](const auto& n) {
    return std::vector{states_of<float>(n, momentum), states_of<float>(n, variance)};
  };
  for (const AdamSettings& s :
       {AdamSettings{0.9, 0.95, 1e-8, 0, {128, 0}}, AdamSettings{0.9, 0.999, 1e-8, 0.1, {128, 1}}})
    check_rule(s, kept, adam, adam_reference);
}

TEST_CASE("the adagrad kernel gives the bits of its reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Kept kept = [](const auto& n) {
    return std::vector<std::vector<StateBytes>>{states_of<float>(n, variance)};
  };
  for (const AdagradSettings& s :
       {AdagradSettings{0, 1e-10, 0, {128, 0}}, AdagradSettings{0.1, 1e-6, 0.1, {128, 1}}})
    check_rule(s, kept, adagrad, adagrad_reference);
}

TEST_CASE("the lion kernel gives the bits of its reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Kept kept = [](const auto& n) {
    return std::vector<std::vector<StateBytes>>{states_of<float>(n, momentum)};
  };
  for (const LionSettings& s :
       {LionSettings{0.9, 0.99, 0, {128, 0}}, LionSettings{0.9, 0.99, 0.1, {128, 1}}})
    check_rule(s, kept, lion, lion_reference);
}

TEST_CASE("the adamw_anyprecision kernel gives the bits of its reference for all types of states",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const bool bf16_momentum : {false, true})
    for (const bool bf16_variance : {false, true})
      for (const bool kahan : {false, true}) {
        const Kept kept = [&](const auto& n) {
          const auto small = [](auto make) {
            return [make](std::size_t i) { return in_bf16(make(i)); };
          };
          std::vector states{
              bf16_momentum ? states_of<Bf16>(n, small(momentum)) : states_of<float>(n, momentum),
              bf16_variance ? states_of<Bf16>(n, small(variance)) : states_of<float>(n, variance)};
          if (kahan)
            states.push_back(
                states_of<Bf16>(n, [](std::size_t i) { return in_bf16(momentum(i) * 0.1f); }));
          return states;
        };
        AnyPrecisionSettings s{0.9, 0.95, 1e-8, 0.1, bf16_momentum, bf16_variance, kahan, {128, 1}};
        check_rule(s, kept, adamw_anyprecision, adamw_anyprecision_reference, kahan);
      }
}

TEST_CASE("Kahan summation beside exact weights is refused", "[gpu]") {
  TRAINX_NEEDS_GPU();
  AnyPrecisionSettings s{};
  s.kahan = true;
  CHECK(adamw_anyprecision({}, WeightKind::fp32, {}, s, nullptr) == cudaErrorInvalidValue);
}

}  // namespace update_rules_test
