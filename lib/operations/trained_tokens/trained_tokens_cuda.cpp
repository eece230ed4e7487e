#include "kernels/rows/listed_tokens.hpp"
#include "operations/common/launch.hpp"
#include "operations/trained_tokens/trained_tokens_backends.hpp"

namespace trainx::operations::cuda {

namespace {

template <class T>
kernels::ListedColumns<T> listed_columns(const Tensor& wide, const Tensor& narrow,
                                         std::span<const std::int32_t> ids) {
  return {wide.size(0), wide.size(1),     static_cast<std::int32_t>(ids.size()),
          ids.data(),   pointer<T>(wide), pointer<T>(narrow)};
}

}  // namespace

void place_tokens(const Gpu& gpu, const Tensor& places, const Tensor& tokens,
                  std::span<const std::int32_t> ids) {
  gpu::require(kernels::place_tokens(
                   {tokens.numel(), pointer<std::int32_t>(tokens), pointer<std::int32_t>(places),
                    static_cast<std::int32_t>(ids.size()), ids.data()},
                   gpu.space.stream),
               "places of trained tokens");
  gpu.done(Work::embedding);
}

void replace_rows(const Gpu& gpu, const Tensor& y, const Tensor& base, const Tensor& rows,
                  const Tensor& places, double scale, const Tensor& table, const Tensor& tokens) {
  with_kernel_element(y, [&]<class T>(T) {
    const kernels::ReplaceRows<T> op{y.size(0),
                                     y.size(1),
                                     pointer<std::int32_t>(places),
                                     static_cast<std::int32_t>(rows.size(0) - 1),
                                     pointer<T>(base),
                                     pointer<T>(rows),
                                     pointer<T>(table),
                                     pointer<std::int32_t>(tokens),
                                     static_cast<float>(scale),
                                     pointer<T>(y)};
    gpu::require(kernels::replace_rows(op, gpu.space.stream), "rows of trained tokens");
  });
  gpu.done(Work::embedding);
}

void take_listed_columns(const Gpu& gpu, const Tensor& to, const Tensor& from,
                         std::span<const std::int32_t> ids) {
  with_kernel_element(to, [&]<class T>(T) {
    gpu::require(kernels::take_listed_columns(listed_columns<T>(from, to, ids), gpu.space.stream),
                 "columns of trained tokens");
  });
  gpu.done(Work::norm);
}

void put_listed_columns(const Gpu& gpu, const Tensor& to, const Tensor& from,
                        std::span<const std::int32_t> ids) {
  with_kernel_element(to, [&]<class T>(T) {
    gpu::require(kernels::put_listed_columns(listed_columns<T>(to, from, ids), gpu.space.stream),
                 "columns of trained tokens");
  });
  gpu.done(Work::norm);
}

}  // namespace trainx::operations::cuda
