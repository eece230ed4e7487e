#include "exported/operators.hpp"
#include <set>

namespace trainx::exported {

bool is_allowed(const std::string& name) {
  static const std::set<std::string_view> names{
      "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "_adaptive_avg_pool2d",
      "_conj", "_convolution", "_fft_c2c", "_fft_c2r", "_fft_r2c", "_grouped_mm",
      "_log_softmax", "_safe_softmax",
      "_scaled_dot_product_flash_attention_for_cpu", "_softmax", "_to_copy", "_unsafe_view",
      "abs", "acos", "acosh", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "add", "addbmm",
      "addcdiv", "addcmul", "addmm", "addmv", "addr", "alias", "all", "amax", "amin", "aminmax",
      "angle", "any", "arange", "argmax", "argmin", "argsort", "asin", "asinh",
      "atan", "atan2", "atanh", "avg_pool1d", "avg_pool2d", "baddbmm", "bincount",
      "binary_cross_entropy", "binary_cross_entropy_with_logits", "bitwise_and",
      "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
      "block_diag", "bmm", "broadcast_tensors", "bucketize", "cat", "ceil", "celu", "chunk",
      "clamp", "clamp_max", "clamp_min", "clone", "complex", "concat", "constant_pad_nd",
      "contiguous", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "convolution",
      "copy", "cos", "cosh", "cross_entropy_loss", "cummax", "cummin", "cumprod", "cumsum",
      "deg2rad", "detach", "diag", "diag_embed", "diagonal", "diagonal_copy", "diagonal_scatter",
      "diff", "div", "dot", "dropout", "einsum", "elu", "embedding", "eq", "erf", "erfc", "exp",
      "exp2", "expand", "expand_as", "expm1", "eye", "feature_dropout", "fill", "flatten", "flip",
      "floor", "floor_divide", "fmax", "fmin", "fmod", "frac", "full", "full_like", "gather", "ge",
      "gelu", "glu", "group_norm", "gt", "hardsigmoid", "hardswish", "hardtanh", "histc",
      "hstack", "hypot", "imag", "index", "index_add", "index_copy", "index_fill", "index_put",
      "index_select", "instance_norm", "isfinite", "isin", "isinf", "isnan", "kthvalue",
      "layer_norm", "le", "leaky_relu", "lerp", "lift_fresh_copy", "linalg_vector_norm", "linear",
      "linspace", "log", "log10", "log1p", "log2", "log_sigmoid", "log_softmax", "logaddexp",
      "logaddexp2", "logcumsumexp", "logical_and", "logical_not", "logical_or", "logical_xor",
      "logsumexp", "lt", "masked_fill", "masked_scatter", "matmul", "max", "max_pool1d",
      "max_pool2d", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mish", "mm",
      "movedim", "mul", "mv", "nan_to_num", "narrow", "native_dropout", "native_group_norm",
      "native_layer_norm", "ne", "neg", "new_full", "new_ones", "new_zeros", "nll_loss_forward",
      "norm", "one_hot", "ones", "ones_like", "outer", "pad", "permute", "pixel_shuffle", "polar",
      "pow", "prelu", "prod", "rad2deg", "real", "reciprocal", "relu", "relu6", "remainder",
      "repeat", "repeat_interleave", "reshape", "reshape_as", "rms_norm", "roll", "rot90", "round",
      "rsqrt", "rsub", "scalar_tensor", "scaled_dot_product_attention", "scatter", "scatter_add",
      "scatter_reduce", "searchsorted", "select", "select_copy", "select_scatter", "selu",
      "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "slice", "slice_scatter", "softmax",
      "softplus", "softshrink", "sort", "split", "split_with_sizes", "sqrt", "square", "squeeze",
      "stack", "std", "sub", "sum", "swapaxes", "sym_size", "t", "take", "take_along_dim", "tan",
      "tanh", "tanhshrink", "threshold", "tile", "to", "topk", "transpose", "tril",
      "tril_indices", "triu", "triu_indices", "trunc", "type_as", "unbind", "unflatten",
      "unfold", "unsafe_chunk", "unsafe_split", "unsqueeze", "upsample_nearest1d", "var",
      "var_mean", "view", "view_as", "view_as_complex", "view_as_real", "vstack", "where",
      "xlogy", "zeros", "zeros_like"};
  constexpr std::string_view space = "aten::";
  return name.starts_with(space) && names.contains(std::string_view(name).substr(space.size()));
}

Drawing drawing_of(const std::string& name) {
  if (name == "aten::dropout" || name == "aten::native_dropout" || name == "aten::feature_dropout")
    return {"train"};
  if (name == "aten::scaled_dot_product_attention" ||
      name == "aten::_scaled_dot_product_flash_attention_for_cpu")
    return {"dropout_p", true};
  return {};
}

}  // namespace trainx::exported
