#pragma once
#include "operations/head_norm/head_norm_spec.hpp"
#include "tensor/tensor.hpp"

namespace trainx::operations {

/// Of queries or of keys: [group] or [columns]; undefined: absent. Gradients are f32.
struct HeadNormWeights {
  Tensor query_weight, query_bias, key_weight, key_bias;
};
/// y[N, columns], mean[N, groups] (f32; undefined of an RMSNorm), rstd[N, groups] (f32; undefined:
/// not kept).
struct HeadNormed {
  Tensor y, mean, rstd;
};
void head_norm(const HeadNorm& n, const HeadNormed& to, const Tensor& x,
               const HeadNormWeights& weights);
/// dx[N, columns], which may be `dy`; weights' gradients are overwritten or added to.
void head_norm_backward(const HeadNorm& n, const Tensor& dx, const HeadNormWeights& gradients,
                        const Tensor& dy, const Tensor& x, const HeadNormed& of,
                        const HeadNormWeights& weights, bool accumulate);

}  // namespace trainx::operations
