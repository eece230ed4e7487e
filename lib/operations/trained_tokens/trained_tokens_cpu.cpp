#include "kernels/rows/listed_tokens.hpp"
#include "operations/common/element.hpp"
#include "operations/common/timed_work.hpp"
#include "operations/trained_tokens/trained_tokens_backends.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations::cpu {

namespace {

template <class T>
kernels::ListedColumns<T> listed_columns(const Tensor& wide, const Tensor& narrow,
                                         std::span<const std::int32_t> ids) {
  return {wide.size(0), wide.size(1),  static_cast<std::int32_t>(ids.size()),
          ids.data(),   data<T>(wide), data<T>(narrow)};
}

}  // namespace

void place_tokens(const Tensor& places, const Tensor& tokens, std::span<const std::int32_t> ids) {
  const TimedWork timed(Work::embedding);
  kernels::place_tokens_reference({tokens.numel(), data<std::int32_t>(tokens),
                                   data<std::int32_t>(places),
                                   static_cast<std::int32_t>(ids.size()), ids.data()});
}

void replace_rows(const Tensor& y, const Tensor& base, const Tensor& rows, const Tensor& places,
                  double scale, const Tensor& table, const Tensor& tokens) {
  const TimedWork timed(Work::embedding);
  const std::int64_t columns = y.size(1);
  with_element(y, [&]<class T>(T) {
    tensor::parallel_for(
        0, y.size(0), row_grain(columns), [&](std::int64_t begin, std::int64_t end) {
          kernels::replace_rows_reference(kernels::ReplaceRows<T>{
              end - begin, columns, data<std::int32_t>(places) + begin,
              static_cast<std::int32_t>(rows.size(0) - 1), data<T>(base) + begin * columns,
              data<T>(rows), data<T>(table), data<std::int32_t>(tokens) + begin,
              static_cast<float>(scale), data<T>(y) + begin * columns});
        });
  });
}

void take_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids) {
  const TimedWork timed(Work::norm);
  with_element(to, [&]<class T>(T) {
    kernels::take_listed_columns_reference(listed_columns<T>(from, to, ids));
  });
}

void put_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids) {
  const TimedWork timed(Work::norm);
  with_element(to, [&]<class T>(T) {
    kernels::put_listed_columns_reference(listed_columns<T>(to, from, ids));
  });
}

}  // namespace trainx::operations::cpu
