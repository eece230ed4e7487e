#include "kernels/rows/mean_pool.hpp"
#include "gpu/attention_case.hpp"
#include "gpu/operands.hpp"

namespace mean_pool_test {

using namespace trainx::kernels;

namespace {

template <class T>
void check_pool() {
  for (const std::int64_t columns : {1, 7, 16, 100, 768})
    for (const std::int64_t length : {1, 2, 7, 9, 130})
      for (const std::size_t shift : {0u, 1u}) {
        INFO("columns " << columns << " length " << length << " shift " << shift);
        const std::int64_t samples = 4;
        const std::vector<std::int32_t> lengths = sample_lengths(samples, length, true);
        const OnDevice<std::int32_t> d_lengths(lengths);
        const auto rows = random_elements<T>(samples * length * columns, 1),
                   pooled = random_elements<T>(samples * columns, 2);
        const auto op_of = [&](const std::int32_t* of, std::vector<T>& x, std::vector<T>& y) {
          return MeanPool<T>{samples, length, columns, of, x.data(), y.data()};
        };
        auto x = rows, y = pooled;
        mean_pool_reference(op_of(lengths.data(), x, y));
        const OnDevice<T> from(rows, shift), to(pooled, shift);
        require_success(mean_pool(MeanPool<T>{samples, length, columns, d_lengths.data(),
                                              from.data(), to.data()},
                                  nullptr),
                        "mean_pool");
        check_close(to.host(), y, rounding<T>, 1e-5, "pooled");

        y = pooled;
        mean_pool_backward_reference(op_of(lengths.data(), x, y));
        const OnDevice<T> d_rows(rows, shift), d_pooled(pooled, shift);
        require_success(mean_pool_backward(MeanPool<T>{samples, length, columns, d_lengths.data(),
                                                       d_rows.data(), d_pooled.data()},
                                           nullptr),
                        "mean_pool_backward");
        check_close(d_rows.host(), x, rounding<T>, 1e-6, "d_rows");
      }
}

}  // namespace

TEST_CASE("rows are pooled as by the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_pool<float>();
  check_pool<Bf16>();
  check_pool<Fp16>();
}

}  // namespace mean_pool_test
