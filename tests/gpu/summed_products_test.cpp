#include "kernels/linear/hopper/summed_products.hpp"
#include "gpu/operands.hpp"

namespace summed_products_test {

using namespace trainx::kernels;

namespace {

struct Part {
  std::int64_t first, width, depth;
};
struct Case {
  std::int64_t rows, columns, depth;
  std::vector<Part> parts;
};

template <class T>
std::vector<double> wide(const std::vector<T>& x) {
  std::vector<double> out;
  for (const T& element : x) out.push_back(static_cast<double>(widened(element)));
  return out;
}

std::size_t at(std::int64_t row, std::int64_t stride, std::int64_t column) {
  return static_cast<std::size_t>(row * stride + column);
}

/// The left operands of added products are columns of one matrix, as adapters make them.
template <class T>
void compare(const Case& of, bool along_sum, bool biased) {
  const auto [rows, columns, depth, parts] = of;
  INFO("rows " << rows << " columns " << columns << " depth " << depth << " parts " << parts.size()
               << " along sum " << along_sum << " biased " << biased);
  std::int64_t narrow_columns = 0;
  for (const Part& p : parts) narrow_columns += p.depth;
  const auto left = random_elements<T>(rows * depth, 1),
             right = random_elements<T>(columns * depth, 2), bias = random_elements<T>(columns, 3),
             narrow_rows = random_elements<T>(rows * narrow_columns, 4);
  std::vector<std::vector<T>> rights;
  for (const Part& p : parts)
    rights.push_back(
        random_elements<T>(p.width * p.depth, 5 + static_cast<unsigned>(rights.size())));
  const OnDevice<T> d_left(left), d_right(right), d_bias(bias), d_narrow(narrow_rows),
      result(std::vector<T>(static_cast<std::size_t>(rows * columns)));
  std::vector<OnDevice<T>> d_rights;
  d_rights.reserve(rights.size());
  for (const auto& r : rights) d_rights.emplace_back(r);
  hopper::SummedProducts<T> op{rows,
                               columns,
                               depth,
                               d_left.data(),
                               d_right.data(),
                               along_sum,
                               biased ? d_bias.data() : nullptr,
                               result.data()};
  std::int64_t from = 0;
  for (const Part& p : parts) {
    op.added[op.added_count] = {d_narrow.data() + from,
                                narrow_columns,
                                d_rights[static_cast<std::size_t>(op.added_count)].data(),
                                p.depth,
                                p.first,
                                p.width};
    ++op.added_count;
    from += p.depth;
  }
  require_success(hopper::summed_products(op, nullptr), "summed_products");
  const auto a = wide(left), b = wide(right), n = wide(narrow_rows), beside = wide(bias),
             got = wide(result.host());
  std::vector<std::vector<double>> of_parts;
  for (const auto& r : rights) of_parts.push_back(wide(r));
  const double step = rounding<T> / 2;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = biased ? beside[at(0, 0, j)] : 0, terms = std::abs(sum);
      const auto add = [&](double term) { sum += term, terms += std::abs(term); };
      for (std::int64_t k = 0; k < depth; ++k)
        add(a[at(i, depth, k)] * b[along_sum ? at(j, depth, k) : at(k, columns, j)]);
      std::int64_t column = 0;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        const auto& r = of_parts[p];
        if (const std::int64_t c = j - parts[p].first; c >= 0 && c < parts[p].width)
          for (std::int64_t k = 0; k < parts[p].depth; ++k)
            add(n[at(i, narrow_columns, column + k)] *
                r[along_sum ? at(c, parts[p].depth, k) : at(k, parts[p].width, c)]);
        column += parts[p].depth;
      }
      const double found = got[at(i, columns, j)];
      if (!(std::abs(found - sum) <= 2e-6 * terms + step * std::abs(sum) + 1e-6))
        FAIL("element " << i << " " << j << ": " << found << " for " << sum);
    }
  const auto first = result.host();
  require_success(hopper::summed_products(op, nullptr), "summed_products");
  CHECK(same_bits(result.host(), first));
}

}  // namespace

#ifndef TRAINX_WITHOUT_HOPPER_KERNELS

TEST_CASE("a product and those that are added equal their sums", "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  for (const Case& of : {Case{1, 8, 8, {{0, 8, 8}}},
                         {129, 264, 72, {{0, 264, 16}}},
                         {128, 256, 64, {{0, 128, 16}, {128, 128, 16}}},
                         {200, 520, 136, {{0, 248, 16}, {248, 16, 8}, {264, 256, 72}}},
                         {130, 768, 64, {{256, 256, 16}}},
                         {64, 1024, 128, {{0, 512, 16}, {512, 256, 16}, {768, 256, 128}}},
                         {65, 264, 200, {}}})
    for (const bool biased : {false, true}) {
      compare<Bf16>(of, true, biased);
      compare<Fp16>(of, true, biased);
    }
  for (const Case& of : {Case{1, 8, 8, {{0, 8, 8}}},
                         {129, 264, 72, {{0, 264, 16}}},
                         {128, 256, 64, {{0, 256, 48}}},
                         {300, 520, 200, {{0, 520, 72}}},
                         {140, 512, 512, {{0, 512, 136}}}})
    for (const bool biased : {false, true}) {
      compare<Bf16>(of, false, biased);
      compare<Fp16>(of, false, biased);
    }
}

TEST_CASE("sizes that the kernel does not take are not launched", "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  const OnDevice<Bf16> memory(std::vector<Bf16>(64 * 64));
  hopper::SummedProducts<Bf16> good{16,   32,      32,           memory.data(), memory.data(),
                                    true, nullptr, memory.data()};
  good.added[0] = {memory.data(), 16, memory.data(), 16, 0, 32};
  good.added_count = 1;
  const auto refuses = [&](const auto& change) {
    hopper::SummedProducts<Bf16> op = good;
    change(op);
    return hopper::summed_products(op, nullptr) == cudaErrorNotSupported;
  };
  using Op = hopper::SummedProducts<Bf16>;
  CHECK(refuses([](Op& op) { op.depth = 31; }));
  CHECK(refuses([](Op& op) { op.columns = 36; }));
  CHECK(refuses([](Op& op) { op.added[0].depth = 12; }));
  CHECK(refuses([](Op& op) { op.added[0].left_stride = 8; }));
  CHECK(refuses([](Op& op) { op.added[0].first = 8; }));
  CHECK(refuses([](Op& op) { op.added[0].width = 40; }));
  CHECK(refuses([](Op& op) { ++op.added[0].left; }));
  CHECK(refuses([](Op& op) { op.added_count = hopper::most_added_products + 1; }));
  CHECK(refuses([](Op& op) {
    op.right_along_sum = false;
    op.added[0].width = 16;
  }));
}

#endif

}  // namespace summed_products_test
