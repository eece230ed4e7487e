#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/embedding/embedding_backends.hpp"
#include "tensor/parallel.hpp"
#include <vector>

namespace trainx::operations {

void cpu::scaled_embedding(const Tensor& out, const Tensor& tokens, const Tensor& wte,
                           const Tensor& wpe, double scale, const Dropout& dropout,
                           const DocumentStarts& document_starts, bool tokens_alone) {
  const TimedWork timed(Work::embedding);
  const std::int64_t rows = out.size(0), n = out.size(1), length = tokens.size(1);
  const auto* const ids = tokens.as<const std::int32_t>();
  const auto factor = static_cast<float>(scale), of_place = tokens_alone ? 1.0f : factor;
  with_element(out, [&]<class T>(T) {
    tensor::parallel_for(0, rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> factors(static_cast<std::size_t>(n), 1.0f);
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t position =
            document_starts.defined() ? document_starts.position(r, length) : r % length;
        if (dropout) dropout_factors(dropout, r, n, 0, n, factors.data());
        const T* const token = data<T>(wte) + ids[r] * n;
        const T* const place = wpe.defined() ? data<T>(wpe) + position * n : nullptr;
        T* const to = data<T>(out) + r * n;
        for (std::int64_t c = 0; c < n; ++c) {
          const float sum = load(token[c]) * factor + (place ? load(place[c]) * of_place : 0.0f);
          store(to[c], sum * factors[static_cast<std::size_t>(c)]);
        }
      }
    });
  });
}

void cpu::scale_rows(const Tensor& out, const Tensor& x, double scale) {
  const auto factor = static_cast<float>(scale);
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, x.numel(), 16384, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        store(data<T>(out)[i], load(data<T>(x)[i]) * factor);
    });
  });
}

}  // namespace trainx::operations
