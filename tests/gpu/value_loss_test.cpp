#include "kernels/loss/value_loss.hpp"
#include "gpu/operands.hpp"
#include <limits>

namespace value_loss_test {

using namespace trainx::kernels;

namespace {

template <class T>
void check_losses() {
  for (const std::int64_t rows : {0, 1, 7, 256, 777})
    for (const std::int64_t columns : {1, 3, 40})
      for (const bool binary : {false, true})
        for (const bool accumulate : {false, true}) {
          INFO("rows " << rows << " columns " << columns << " binary " << binary << " accumulate "
                       << accumulate << " bytes " << sizeof(T));
          const auto logits = random_elements<T>(rows * columns, 1, 3.0f);
          auto targets = random_elements<float>(rows * columns, 2);
          for (float& t : targets) t = binary ? (t > 0 ? 1.0f : 0.0f) : t;
          for (std::int64_t r = 2; r < rows; r += 5)  // without target
            targets[static_cast<std::size_t>(r * columns)] =
                std::numeric_limits<float>::quiet_NaN();
          std::vector<T> want(logits);
          double loss = 3, count = 2, scale = 0.5;
          ValueLoss<T> op{rows, columns, want.data(), targets.data(), binary, true, 0.125, &scale};
          value_loss_reference(op, {&loss, &count, accumulate});
          const OnDevice<T> x(logits);
          const OnDevice<float> wanted(targets);
          const OnDevice<double> sums({3, 2}), scales({scale});
          op.logits = x.data(), op.targets = wanted.data(), op.loss_scale = scales.data();
          require_success(value_loss(op, {sums.data(), sums.data() + 1, accumulate}, nullptr),
                          "value_loss");
          const auto got = sums.host();
          check_close(got[0], loss, 1e-12, 1e-12, "loss");
          CHECK(got[1] == count);
          // exponentials of both sides may round apart
          check_close(x.host(), want, rounding<T>, 1e-7, "gradient");
          op.with_gradient = false;
          require_success(value_loss(op, {sums.data(), sums.data() + 1, false}, nullptr),
                          "value_loss");
        }
}

}  // namespace

TEST_CASE("losses of real numbers equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_losses<float>();
  check_losses<Bf16>();
  check_losses<Fp16>();
}

}  // namespace value_loss_test
