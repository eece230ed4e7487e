#include "kernels/embedding/part_ids.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/embedding/embedding_backends.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

void cpu::ids_of_part(const Tensor& ids, const Tensor& tokens, const TableRows& rows,
                      std::int64_t without) {
  kernels::part_ids_reference({tokens.numel(), data<const std::int32_t>(tokens), rows.first,
                               rows.count, without, data<std::int32_t>(ids)});
}

void cpu::embed_part(const Tensor& out, const Tensor& ids, const EmbeddingPart& part) {
  const TimedWork timed(Work::embedding);
  const std::int64_t n = out.size(1), length = ids.size(1), rows = part.word.size(0);
  const auto* const id = data<const std::int32_t>(ids);
  const std::int32_t* const types =
      part.token_types.defined() ? data<const std::int32_t>(part.token_types) : nullptr;
  const auto factor = static_cast<float>(part.scale),
             of_others = part.scales_tokens ? 1.0F : factor;
  with_element(out, [&]<class T>(T) {
    tensor::parallel_for(0, out.size(0), row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t position = part.starts.defined() ? part.starts.position(r, length)
                                                            : r % length;
        const T* const word = id[r] < rows ? data<T>(part.word) + id[r] * n : nullptr;
        const T* const place = part.position.defined() ? data<T>(part.position) + position * n
                                                       : nullptr;
        const T* const type = part.type.defined() ? data<T>(part.type) + types[r] * n : nullptr;
        for (std::int64_t c = 0; c < n; ++c) {
          float sum = word ? load(word[c]) * factor : 0.0F;
          if (place) sum += load(place[c]) * of_others;
          if (type) sum += load(type[c]) * of_others;
          store(data<T>(out)[r * n + c], sum);
        }
      }
    });
  });
}

}  // namespace trainx::operations
