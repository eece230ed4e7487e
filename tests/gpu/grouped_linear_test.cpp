#include "kernels/experts/grouped_linear.hpp"
#include "kernels/experts/hopper/grouped_hopper.hpp"
#include "gpu/operands.hpp"
#include "gpu/spread.hpp"

namespace grouped_linear_test {

using namespace trainx::kernels;

namespace {

struct Case {
  std::vector<std::int32_t> offsets;
  std::int64_t in, out;
  std::size_t shift = 0;
  std::int64_t experts() const { return std::ssize(offsets) - 1; }
  std::int64_t rows() const { return offsets.back(); }
};

template <class T>
struct Operands {
  explicit Operands(const Case& c)
      : x(random_elements<T>(c.rows() * c.in, 1)),
        dy(random_elements<T>(c.rows() * c.out, 2)),
        weight(random_elements<T>(c.experts() * c.out * c.in, 3)),
        before(random_elements<float>(c.experts() * c.out * c.in, 4)) {}
  std::vector<T> x, dy, weight;
  std::vector<float> before;  // of a gradient that is added to
};

template <class T>
struct Results {
  std::vector<T> y, dx;
  std::vector<float> d_weight, added;
};

template <class T>
Results<T> nans(const Case& c) {
  T nan;
  narrow(std::numeric_limits<float>::quiet_NaN(), nan);
  Results<T> r;
  r.y.assign(static_cast<std::size_t>(c.rows() * c.out), nan);
  r.dx.assign(static_cast<std::size_t>(c.rows() * c.in), nan);
  r.d_weight.assign(static_cast<std::size_t>(c.experts() * c.out * c.in),
                    std::numeric_limits<float>::quiet_NaN());
  return r;
}

template <class T>
Results<T> reference_of(const Case& c, const Operands<T>& in) {
  Results<T> r = nans<T>(c);
  const GroupedSizes s{c.rows(), c.in, c.out, c.experts(), c.offsets.data()};
  grouped_linear_reference(GroupedLinear<T>{s, in.x.data(), in.weight.data(), r.y.data()});
  grouped_linear_backward_input_reference(
      GroupedLinearBackwardInput<T>{s, in.dy.data(), in.weight.data(), r.dx.data()});
  grouped_linear_backward_weight_reference(
      GroupedLinearBackwardWeight<T>{s, in.dy.data(), in.x.data(), r.d_weight.data()});
  r.added = in.before;
  grouped_linear_backward_weight_reference(
      GroupedLinearBackwardWeight<T>{s, in.dy.data(), in.x.data(), r.added.data(), true});
  return r;
}

#ifdef TRAINX_WITHOUT_HOPPER_KERNELS
constexpr bool has_hopper_kernels = false;
#else
constexpr bool has_hopper_kernels = true;
#endif

enum class By { portable, hopper };

/// Can kernels for Hopper compute it, on this GPU?
template <class T>
bool is_for_hopper(const Case& c) {
  if constexpr (has_hopper_kernels && sizeof(T) == 2)
    return c.shift == 0 && hopper::is_supported({c.rows(), c.in, c.out, c.experts(), nullptr});
  return false;
}

template <class T>
cudaError_t launch(By by, const GroupedLinear<T>& op) {
  if constexpr (has_hopper_kernels && sizeof(T) == 2)
    if (by == By::hopper) return hopper::grouped_linear(op, nullptr);
  return grouped_linear(op, nullptr);
}
template <class T>
cudaError_t launch(By by, const GroupedLinearBackwardInput<T>& op) {
  if constexpr (has_hopper_kernels && sizeof(T) == 2)
    if (by == By::hopper) return hopper::grouped_linear_backward_input(op, nullptr);
  return grouped_linear_backward_input(op, nullptr);
}
template <class T>
cudaError_t launch(By by, const GroupedLinearBackwardWeight<T>& op) {
  if constexpr (has_hopper_kernels && sizeof(T) == 2)
    if (by == By::hopper) return hopper::grouped_linear_backward_weight(op, nullptr);
  return grouped_linear_backward_weight(op, nullptr);
}

template <class T>
Results<T> device_of(const Case& c, const Operands<T>& in, By by) {
  const Results<T> empty = nans<T>(c);
  const OnDevice<std::int32_t> offsets(c.offsets);
  const OnDevice<T> x(in.x, c.shift), dy(in.dy, c.shift), weight(in.weight, c.shift),
      y(empty.y, c.shift), dx(empty.dx, c.shift);
  const OnDevice<float> d_weight(empty.d_weight, c.shift), added(in.before, c.shift);
  const GroupedSizes s{c.rows(), c.in, c.out, c.experts(), offsets.data()};
  require_success(launch(by, GroupedLinear<T>{s, x.data(), weight.data(), y.data()}), "forward");
  require_success(launch(by, GroupedLinearBackwardInput<T>{s, dy.data(), weight.data(), dx.data()}),
                  "backward input");
  for (const bool accumulate : {false, true})
    require_success(
        launch(by,
               GroupedLinearBackwardWeight<T>{s, dy.data(), x.data(),
                                              (accumulate ? added : d_weight).data(), accumulate}),
        "backward weight");
  return {y.host(), dx.host(), d_weight.host(), added.host()};
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows() << " experts " << c.experts() << " in " << c.in << " out " << c.out
               << " shift " << c.shift << " bytes " << sizeof(T));
  const Operands<T> in(c);
  const Results<T> want = reference_of(c, in);
  const auto sums = [](std::int64_t n) { return 2e-6 * (4 + static_cast<double>(n)); };
  for (const By by : {By::portable, By::hopper}) {
    if (by == By::hopper && !is_for_hopper<T>(c)) continue;
    INFO((by == By::hopper ? "for Hopper" : "portable"));
    const Results<T> got = device_of(c, in, by);
    check_close(got.y, want.y, rounding<T>, sums(c.in), "y");
    check_close(got.dx, want.dx, rounding<T>, sums(c.out), "dx");
    check_close(got.d_weight, want.d_weight, 1e-5, sums(c.rows()), "d_weight");
    check_close(got.added, want.added, 1e-5, sums(c.rows()), "added d_weight");
  }
}

template <class T>
void check_shapes() {
  for (const std::size_t shift : {0u, 1u}) {
    compare<T>({{0, 1}, 8, 8, shift});                           // one row
    compare<T>({{0, 5, 5, 9, 9}, 24, 40, shift});                // none to two experts
    compare<T>({{0, 0, 0, 300}, 64, 136, shift});                // all to the last
    compare<T>({{0, 300, 300, 300}, 72, 264, shift});            // all to the first
    compare<T>({{0, 127, 255, 384, 512, 641}, 40, 128, shift});  // about a tile each
    compare<T>({spread_offsets(517, 70, 5), 16, 24, shift});     // more than a warp looks at
    compare<T>({spread_offsets(600, 9, 6), 200, 328, shift});    // sums of several tiles
    compare<T>({{0, 3, 17, 20}, 33, 7, shift});                  // odd rows
    compare<T>({spread_offsets(150, 4, 7), 129, 130, shift});
  }
  compare<T>({{0, 0, 0}, 16, 24});  // no rows: weight gradients are 0, or as they were
}

}  // namespace

TEST_CASE("products of experts equal their reference for all spreads and alignments", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_shapes<float>();
  check_shapes<Bf16>();
  check_shapes<Fp16>();
}

TEST_CASE("products of experts in wide tiles; repeats give the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const By by = GENERATE(By::portable, By::hopper);
  // more wide tiles than two for each multiprocessor, in all three products
  const Case c{spread_offsets(9'001, 4, 8), 2'304, 2'056};
  if (by == By::hopper && !is_for_hopper<Bf16>(c))
    TRAINX_SKIP("takes a GPU of compute capability 9.0");
  const Operands<Bf16> in(c);
  const auto first = device_of(c, in, by);
  // some elements against sums of double
  std::mt19937 random(9);
  const auto at = [](const std::vector<Bf16>& v, std::int64_t i) {
    return static_cast<double>(widened(v[static_cast<std::size_t>(i)]));
  };
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
  };
  const auto expert_of = [&](std::int64_t row) {
    return std::upper_bound(c.offsets.begin(), c.offsets.end(), row) - c.offsets.begin() - 1;
  };
  for (int i = 0; i < 3'000; ++i) {
    const std::int64_t r = below(c.rows()), o = below(c.out), n = below(c.in), e = expert_of(r);
    double y = 0, dx = 0, dw = 0;
    for (std::int64_t k = 0; k < c.in; ++k)
      y += at(in.x, r * c.in + k) * at(in.weight, (e * c.out + o) * c.in + k);
    for (std::int64_t k = 0; k < c.out; ++k)
      dx += at(in.dy, r * c.out + k) * at(in.weight, (e * c.out + k) * c.in + n);
    for (std::int64_t k = c.offsets[static_cast<std::size_t>(e)];
         k < c.offsets[static_cast<std::size_t>(e) + 1]; ++k)
      dw += at(in.dy, k * c.out + o) * at(in.x, k * c.in + n);
    check_close(at(first.y, r * c.out + o), y, rounding<Bf16>, 1e-2, "y");
    check_close(at(first.dx, r * c.in + n), dx, rounding<Bf16>, 1e-2, "dx");
    check_close(first.d_weight[static_cast<std::size_t>((e * c.out + o) * c.in + n)], dw, 1e-4,
                1e-2, "d_weight");
  }
  for (const Bf16 x : first.y)
    if (std::isnan(widened(x))) FAIL("an element of y was not written");
  for (const Bf16 x : first.dx)
    if (std::isnan(widened(x))) FAIL("an element of dx was not written");
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto again = device_of(c, in, by);
    CHECK((same_bits(again.y, first.y) && same_bits(again.dx, first.dx) &&
           same_bits(again.d_weight, first.d_weight) && same_bits(again.added, first.added)));
  }
}

TEST_CASE("NaN of a row stays in the row, and in its expert's gradient", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const By by = GENERATE(By::portable, By::hopper);
  const Case c{{0, 40, 40, 201, 300}, 136, 72};
  if (by == By::hopper && !is_for_hopper<Bf16>(c))
    TRAINX_SKIP("takes a GPU of compute capability 9.0");
  Operands<Bf16> in(c);
  constexpr std::int64_t row = 200;  // the last of the third expert
  narrow(std::numeric_limits<float>::quiet_NaN(), in.x[row * 136 + 9]);
  narrow(std::numeric_limits<float>::quiet_NaN(), in.dy[row * 72 + 3]);
  const auto got = device_of(c, in, by);
  for (std::int64_t i = 0; i < std::ssize(got.y); ++i)
    if (std::isnan(widened(got.y[static_cast<std::size_t>(i)])) != (i / c.out == row))
      FAIL("y " << i);
  for (std::int64_t i = 0; i < std::ssize(got.dx); ++i)
    if (std::isnan(widened(got.dx[static_cast<std::size_t>(i)])) != (i / c.in == row))
      FAIL("dx " << i);
  for (std::int64_t i = 0; i < std::ssize(got.d_weight); ++i) {
    const std::int64_t e = i / (c.out * c.in), o = i / c.in % c.out, n = i % c.in;
    if (std::isnan(got.d_weight[static_cast<std::size_t>(i)]) != (e == 2 && (o == 3 || n == 9)))
      FAIL("d_weight " << i);
  }
}

}  // namespace grouped_linear_test
