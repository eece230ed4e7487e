#include "state/saved_layout_io.hpp"
#include "architectures/saved_layout.hpp"
#include "tensor/large_memory.hpp"
#include <algorithm>

namespace trainx::state {
namespace {

using program::ParameterSpec;

template <class Work>
void for_rows(const ParameterSpec& p, const Work& work) {
  const std::int64_t row_bytes = architectures::saved_columns(p) *
                                 static_cast<std::int64_t>(sizeof(float)),
                     least = std::max<std::int64_t>(
                         1, tensor::least_bytes / std::max<std::int64_t>(1, row_bytes));
  tensor::for_parts(architectures::saved_rows(p).end, least,
                    [&](std::int64_t begin, std::int64_t end) {
                      work(architectures::Rows{begin, end});
                    });
}

}  // namespace

void unpack_saved(const ParameterSpec& p, std::span<const float> saved, float* group_memory) {
  if (architectures::saved_elements(p) != p.elements())
    tensor::set_zero(reinterpret_cast<std::byte*>(group_memory + p.offset),
                     static_cast<std::size_t>(p.elements()) * sizeof(float));
  for_rows(p, [&](architectures::Rows rows) {
    architectures::unpack_saved(p, saved, group_memory, rows);
  });
}

void pack_saved(const ParameterSpec& p, const float* group_memory, std::span<float> saved) {
  for_rows(p, [&](architectures::Rows rows) {
    architectures::pack_saved(p, group_memory, saved, rows);
  });
}

}  // namespace trainx::state
