#include "operations/rows/rows.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/common/element.hpp"
#include "operations/rows/rows_backends.hpp"
#include "operations/common/timed_work.hpp"
#include <cstring>

namespace trainx::operations {

void cpu::clear(const Tensor& x) {
  const TimedWork timed(Work::copy);
  std::memset(x.data, 0, static_cast<std::size_t>(x.nbytes()));
}

void cpu::first_rows(const Tensor& rows, std::int64_t length) {
  const TimedWork timed(Work::copy);
  for (std::int64_t b = 0; b < rows.size(0); ++b) data<std::int64_t>(rows)[b] = b * length;
}

std::int64_t cpu::select_targets(const Tensor& rows, const Tensor& row_targets,
                                 const Tensor& targets) {
  const TimedWork timed(Work::copy);
  const auto* const target = data<std::int32_t>(targets);
  std::int64_t found = 0;
  for (std::int64_t r = 0; r < targets.numel(); ++r) {
    if (target[r] == no_target) continue;
    data<std::int32_t>(row_targets)[found] = target[r];
    data<std::int64_t>(rows)[found++] = r;
  }
  return found;
}

void cpu::scatter_rows(const Tensor& to, const Tensor& from, const Tensor& rows) {
  const TimedWork timed(Work::copy);
  const std::int64_t columns = from.size(1);
  with_element(from, [&]<class T>(T) {
    for (std::int64_t r = 0; r < from.size(0); ++r)
      std::memcpy(data<T>(to) + data<std::int64_t>(rows)[r] * columns, data<T>(from) + r * columns,
                  static_cast<std::size_t>(columns) * sizeof(T));
  });
}

}  // namespace trainx::operations
