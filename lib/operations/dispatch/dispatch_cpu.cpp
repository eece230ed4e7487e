#include "core/error.hpp"
#include "operations/common/row_arithmetic.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/dispatch/dispatch_backends.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace trainx::operations {

namespace {

/// At most `capacity` rows of each expert, in the order of choices; `first`: by expert, its first
/// row if none were dropped.
void place_within_capacity(const Tensor& places, const Tensor& offsets, const Tensor& indices,
                           std::int64_t capacity, const std::vector<std::int32_t>& first) {
  const auto most = static_cast<std::int32_t>(capacity);
  std::vector<std::int32_t> begin(first.size());  // of the rows that are kept
  for (std::size_t e = 1; e < first.size(); ++e)
    begin[e] = begin[e - 1] + std::min(first[e] - first[e - 1], most);
  if (offsets.defined()) std::ranges::copy(begin, offsets.as<std::int32_t>());
  if (!places.defined()) return;
  std::vector<std::int32_t> next = begin;
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int32_t expert = indices.as<const std::int32_t>()[i];
    const auto e = static_cast<std::size_t>(expert);
    const bool kept = expert >= 0 && next[e] < begin[e + 1];
    places.as<std::int32_t>()[i] = kept ? next[e]++ : -1;
  }
}

}  // namespace

// A counting sort: with experts of a few thousand tokens it takes less than the rows' copy.
void cpu::sort_by_expert(const Tensor& places, const Tensor& offsets, const Tensor& indices,
                         std::int64_t experts, const ExpertChoices& choices) {
  const TimedWork timed(Work::copy);
  const std::int64_t n = indices.numel();
  const auto* const expert = indices.as<const std::int32_t>();
  std::vector<std::int32_t> next(static_cast<std::size_t>(experts) + 1);
  for (std::int64_t i = 0; i < n; ++i) {
    if (expert[i] < 0 && choices.sparse) continue;
    if (expert[i] < 0 || expert[i] >= experts)
      throw InternalError("dispatch: " + std::to_string(expert[i]) + " is none of " +
                          std::to_string(experts) + " experts");
    ++next[static_cast<std::size_t>(expert[i]) + 1];
  }
  for (std::size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  if (choices.capacity > 0)
    return place_within_capacity(places, offsets, indices, choices.capacity, next);
  if (offsets.defined()) std::ranges::copy(next, offsets.as<std::int32_t>());
  if (!places.defined()) return;
  for (std::int64_t i = 0; i < n; ++i)
    places.as<std::int32_t>()[i] = expert[i] < 0 ? -1 : next[static_cast<std::size_t>(expert[i])]++;
}

void cpu::dispatch_rows(const Tensor& rows, const Tensor& x, const Tensor& places) {
  const TimedWork timed(Work::copy);
  const std::int64_t N = x.size(0), k = places.numel() / N, bytes = x.nbytes() / N;
  const auto* const place = places.as<const std::int32_t>();
  tensor::parallel_for(0, N, row_grain(k * x.size(1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * k; i < end * k; ++i)
      if (place[i] >= 0)
        std::memcpy(rows.as<std::byte>() + place[i] * bytes,
                    x.as<const std::byte>() + i / k * bytes, static_cast<std::size_t>(bytes));
  });
}

void cpu::dispatch_rows_backward(const Tensor& dx, const Tensor& d_rows, const Tensor& places,
                                 const Tensor& addend) {
  const TimedWork timed(Work::copy);
  const std::int64_t N = dx.size(0), H = dx.size(1), k = places.numel() / N;
  const auto* const place = places.as<const std::int32_t>();
  with_element(dx, [&]<class T>(T) {
    tensor::parallel_for(0, N, row_grain(k * H), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> sum(static_cast<std::size_t>(H));
      for (std::int64_t n = begin; n < end; ++n) {
        if (addend.defined())
          read_row(sum.data(), data<const T>(addend) + n * H, H);
        else
          std::fill(sum.begin(), sum.end(), 0.0F);
        for (std::int64_t j = n * k; j < (n + 1) * k; ++j)
          if (place[j] >= 0) add_scaled_row(sum.data(), data<const T>(d_rows) + place[j] * H, 1, H);
        write_row(data<T>(dx) + n * H, sum.data(), H);
      }
    });
  });
}

}  // namespace trainx::operations
