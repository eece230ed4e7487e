#include "core/error.hpp"
#include "operations/common/element.hpp"
#include "operations/common/issued_gemms.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/grouped_linear/grouped_linear_backends.hpp"
#include "tensor/torch_view.hpp"
#include "tensor/parallel.hpp"
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace trainx::operations {

using tensor::torch_view;

namespace {

constexpr std::int64_t least_rows = 32;  // that make starting a thread pay

/// Calls f(expert, first row, rows) for each expert that has some.
template <class F>
void for_experts(const Tensor& offsets, F f) {
  const auto* const of = offsets.as<const std::int32_t>();
  for (std::int64_t e = 0; e + 1 < offsets.numel(); ++e)
    if (of[e + 1] > of[e]) f(e, of[e], of[e + 1] - of[e]);
}

/// Rows of the expert in a weight of as many experts as `offsets` has.
at::Tensor of_expert(const Tensor& weight, const Tensor& offsets, std::int64_t expert) {
  const std::int64_t out = weight.size(0) / (offsets.numel() - 1);
  return torch_view(weight.narrow(0, expert * out, out));
}

/// Calls f(expert, first row, rows) for all rows, of which each thread takes as many: products of
/// one expert are too small to be shared well, and experts have unlike numbers of rows.
template <class F>
void for_experts_in_parallel(const Tensor& offsets, F f) {
  const auto* const of = offsets.as<const std::int32_t>();
  const std::int64_t experts = offsets.numel() - 1;
  tensor::parallel_for(of[0], of[experts], least_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t first = std::max<std::int64_t>(begin, of[e]),
                         last = std::min<std::int64_t>(end, of[e + 1]);
      if (last > first) f(e, first, last - first);
    }
  });
}

/// Calls f(first row, rows) for blocks that cover rows [first, first + rows), of a few sizes:
/// oneDNN keeps a compiled product for each number of rows of 16-bit operands (measured: 0.6 MiB),
/// and a router gives an expert any number. Blocks may overlap: rows in two of them are computed
/// twice.
template <class F>
void for_blocks_of_few_sizes(std::int64_t first, std::int64_t rows, F f) {
  constexpr std::int64_t largest = 256;
  const std::int64_t end = first + rows;
  std::int64_t next = first;
  for (; end - next >= largest; next += largest) f(next, largest);
  if (next == first && rows > 0) {
    const auto size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)));
    f(first, size);
    next = first + size;
  }
  if (next == end) return;
  const auto size =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(end - next)));
  f(end - size, size);
}

/// out[rows, :] = x[rows, :] weight for all `rows` from `first`.
void multiply_rows(const Tensor& out, const Tensor& x, const at::Tensor& weight, std::int64_t first,
                   std::int64_t rows) {
  const auto multiply = [&](std::int64_t from, std::int64_t count) {
    at::Tensor to = torch_view(out.narrow(0, from, count));
    at::mm_out(to, torch_view(x.narrow(0, from, count)), weight);
  };
  if (x.dtype == DType::f32)
    multiply(first, rows);
  else
    for_blocks_of_few_sizes(first, rows, multiply);
}

/// x in f32 at the given element of `room`.
at::Tensor cast_into(const Tensor& x, const Tensor& room, std::int64_t first) {
  at::Tensor to = torch_view(room.view({-1}).narrow(0, first, x.numel()).view(x.dims));
  to.copy_(torch_view(x));
  return to;
}

/// out = or += left^T right.
void put_product(at::Tensor out, const at::Tensor& left, const at::Tensor& right, bool accumulate) {
  if (accumulate)
    at::addmm_out(out, out, left.t(), right);
  else
    at::mm_out(out, left.t(), right);
}

}  // namespace

void cpu::grouped_linear(const Tensor& y, const Tensor& x, const Tensor& weight,
                         const Tensor& offsets) {
  const TimedWork timed(Work::matrix_product);
  for_experts(offsets, [&](std::int64_t, std::int64_t, std::int64_t rows) {
    note_gemm(rows, y.size(1), x.size(1));
  });
  for_experts_in_parallel(offsets, [&](std::int64_t e, std::int64_t first, std::int64_t rows) {
    multiply_rows(y, x, of_expert(weight, offsets, e).t(), first, rows);
  });
}

void cpu::add_expert_bias(const Tensor& y, const Tensor& bias, const Tensor& offsets) {
  const TimedWork timed(Work::matrix_product);
  const std::int64_t out = y.size(1);
  with_element(y, [&]<class T>(T) {
    for_experts(offsets, [&](std::int64_t e, std::int64_t first, std::int64_t rows) {
      const T* const added = data<T>(bias) + e * out;
      for (std::int64_t i = 0; i < rows * out; ++i) {
        T& to = data<T>(y)[first * out + i];
        store(to, load(to) + load(added[i % out]));
      }
    });
  });
}

void cpu::grouped_linear_backward_bias(const Tensor& d_bias, const Tensor& dy,
                                       const Tensor& offsets, bool accumulate) {
  const TimedWork timed(Work::matrix_product);
  const std::int64_t out = dy.size(1), experts = offsets.numel() - 1;
  const auto* const of = offsets.as<const std::int32_t>();
  std::vector<double> sums(static_cast<std::size_t>(out));
  with_element(dy, [&]<class T>(T) {
    for (std::int64_t e = 0; e < experts; ++e) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t i = of[e] * out; i < of[e + 1] * out; ++i)
        sums[static_cast<std::size_t>(i % out)] += static_cast<double>(load(data<T>(dy)[i]));
      for (std::int64_t c = 0; c < out; ++c) {
        float& to = d_bias.as<float>()[e * out + c];
        to = (accumulate ? to : 0) + static_cast<float>(sums[static_cast<std::size_t>(c)]);
      }
    }
  });
}

void cpu::grouped_linear_backward_input(const Tensor& dx, const Tensor& dy, const Tensor& weight,
                                        const Tensor& offsets) {
  const TimedWork timed(Work::matrix_product);
  for_experts(offsets, [&](std::int64_t, std::int64_t, std::int64_t rows) {
    note_gemm(rows, dx.size(1), dy.size(1));
  });
  for_experts_in_parallel(offsets, [&](std::int64_t e, std::int64_t first, std::int64_t rows) {
    multiply_rows(dx, dy, of_expert(weight, offsets, e), first, rows);
  });
}

void cpu::grouped_linear_backward_weight(const Tensor& d_weight, const Tensor& dy, const Tensor& x,
                                         const Tensor& offsets, bool accumulate,
                                         const Tensor& cast) {
  const TimedWork timed(Work::matrix_product);
  const bool casts = x.dtype != DType::f32;
  const std::int64_t width = dy.size(1) + x.size(1);
  if (casts && (!cast.defined() || cast.numel() < width))
    throw InternalError("grouped_linear_backward_weight: no room for operands in fp32");
  const auto* const of = offsets.as<const std::int32_t>();
  for (std::int64_t e = 0; !accumulate && e + 1 < offsets.numel(); ++e)
    if (of[e + 1] == of[e]) of_expert(d_weight, offsets, e).zero_();
  for_experts(offsets, [&](std::int64_t, std::int64_t, std::int64_t rows) {
    note_gemm(dy.size(1), x.size(1), rows);
  });
  if (!casts) {
    tensor::parallel_for(0, dy.size(1), least_rows, [&](std::int64_t begin, std::int64_t end) {
      for_experts(offsets, [&](std::int64_t e, std::int64_t first, std::int64_t rows) {
        put_product(of_expert(d_weight, offsets, e).narrow(0, begin, end - begin),
                    torch_view(dy.narrow(0, first, rows)).narrow(1, begin, end - begin),
                    torch_view(x.narrow(0, first, rows)), accumulate);
      });
    });
    return;
  }
  for_experts(offsets, [&](std::int64_t e, std::int64_t begin, std::int64_t rows) {
    const std::int64_t most = std::min(rows, cast.numel() / width);
    for (std::int64_t first = begin; first < begin + rows; first += most) {
      const std::int64_t some = std::min(most, begin + rows - first);
      const Tensor left = dy.narrow(0, first, some), right = x.narrow(0, first, some);
      put_product(of_expert(d_weight, offsets, e), cast_into(left, cast, 0),
                  cast_into(right, cast, left.numel()), accumulate || first > begin);
    }
  });
}

}  // namespace trainx::operations
