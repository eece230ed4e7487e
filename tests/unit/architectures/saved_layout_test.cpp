// Parameters whose tensors lie otherwise in files.
#include "architectures/saved_layout.hpp"
#include <vector>
#include "support/catch.hpp"

namespace saved_layout_test {

using namespace trainx;

TEST_CASE("matrices of experts that files hold as [experts, in, out] are turned one by one") {
  // more than a square of what is turned at a time
  const std::int64_t experts = 3, out = 35, in = 33, offset = 5;
  const program::ParameterSpec p{.name = "w",
                                 .dims = {experts, out, in},
                                 .offset = offset,
                                 .saved_dims = {experts, in, out},
                                 .saved_transposed = true};
  const auto n = static_cast<std::size_t>(experts * out * in);
  std::vector<float> saved(n), memory(n + offset, -1), again(n, -1);
  for (std::size_t i = 0; i < n; ++i) saved[i] = static_cast<float>(i);
  const architectures::Rows rows = architectures::saved_rows(p);
  CHECK(rows.end == experts);
  // in parts, as threads do
  for (std::int64_t e = 0; e < rows.end; ++e)
    architectures::unpack_saved(p, saved, memory.data(), {e, e + 1});
  bool right = true;
  for (std::int64_t e = 0; e < experts; ++e)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        right &= memory[static_cast<std::size_t>(offset + (e * out + o) * in + i)] ==
                 saved[static_cast<std::size_t>((e * in + i) * out + o)];
  CHECK(right);
  CHECK(memory[0] == -1);
  architectures::pack_saved(p, memory.data(), again, rows);
  CHECK(again == saved);
}

TEST_CASE("an adapter's second matrices of stacked experts have experts last in files") {
  const std::int64_t experts = 3, out = 5, rank = 2;
  const program::ParameterSpec p{.name = "b",
                                 .dims = {experts, out, rank},
                                 .saved_dims = {out, rank * experts},
                                 .saved_experts_last = true};
  const auto n = static_cast<std::size_t>(experts * out * rank);
  std::vector<float> saved(n), memory(n, -1), again(n, -1);
  for (std::size_t i = 0; i < n; ++i) saved[i] = static_cast<float>(i);
  const architectures::Rows rows = architectures::saved_rows(p);
  CHECK(rows.end == experts);
  for (std::int64_t e = 0; e < rows.end; ++e)
    architectures::unpack_saved(p, saved, memory.data(), {e, e + 1});
  bool right = true;
  for (std::int64_t e = 0; e < experts; ++e)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t j = 0; j < rank; ++j)
        right &= memory[static_cast<std::size_t>((e * out + o) * rank + j)] ==
                 saved[static_cast<std::size_t>(o * rank * experts + j * experts + e)];
  CHECK(right);
  architectures::pack_saved(p, memory.data(), again, rows);
  CHECK(again == saved);
}

}  // namespace saved_layout_test
