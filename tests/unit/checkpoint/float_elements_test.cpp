#include "checkpoint/float_elements.hpp"
#include "support/golden.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <cstring>

namespace float_elements_test {

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

template <class T>
TensorEntry entry_of(const std::vector<T>& values, DType dtype) {
  return {dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

}  // namespace

TEST_CASE("elements are converted among the three types") {
  const std::vector<float> values{0.5f, -3, 65504, 1 + 0x1p-9f};
  std::vector<std::uint16_t> half(4), brain(4);
  convert_elements(entry_of(values, DType::f32), DType::f16,
                   std::as_writable_bytes(std::span(half)), "t");
  convert_elements(entry_of(values, DType::f32), DType::bf16,
                   std::as_writable_bytes(std::span(brain)), "t");
  CHECK(to_floats(entry_of(half, DType::f16), "t") == values);
  CHECK(to_floats(entry_of(brain, DType::bf16), "t") == std::vector<float>{0.5f, -3, 65536, 1});
  std::vector<float> wide(4);
  convert_elements(entry_of(half, DType::f16), DType::f32, std::as_writable_bytes(std::span(wide)),
                   "t");
  CHECK(wide == values);
}

TEST_CASE("an element beyond the type's range is named; one that was infinite stays so") {
  std::vector<std::uint16_t> out(2);
  const auto bytes = std::as_writable_bytes(std::span(out));
  const std::vector<float> large{1, 65520}, largest{1, 3.4e38f}, infinite{1, -INFINITY};
  check_error("checkpoint.float_elements/m_tensor_element_beyond_range", 65, user_error_of([&] {
                convert_elements(entry_of(large, DType::f32), DType::f16, bytes, "m: tensor 'w'");
              }));
  check_error("checkpoint.float_elements/element", 65, user_error_of([&] {
                convert_elements(entry_of(largest, DType::f32), DType::bf16, bytes, "t");
              }));
  convert_elements(entry_of(infinite, DType::f32), DType::f16, bytes, "t");
  CHECK(out[1] == 0xfc00);
}

TEST_CASE("what is no weight is refused by name") {
  const std::vector<std::int32_t> ids{1, 2};
  check_error("checkpoint.float_elements/m_tensor_type_i_weights", 65,
              user_error_of([&] { to_floats(entry_of(ids, DType::i32), "m: tensor 'w'"); }));
}

}  // namespace float_elements_test
