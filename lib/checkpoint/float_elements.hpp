// Elements of saved tensors as floats and back: what is read into training, what an export writes.
#pragma once
#include "checkpoint/checkpoint.hpp"

namespace trainx::checkpoint {

/// f32, bf16 and f16 hold weights; other types belong to what is no weight.
bool is_weight_dtype(DType dtype);

/// `where` names the tensor in a sentence. Throws UserError 65 for a type that holds no weights.
std::vector<float> to_floats(const TensorEntry& tensor, const std::string& where);

/// Writes the tensor's elements as `dtype`, rounded to nearest even. A finite element that would
/// become infinite throws UserError 65 naming it.
void convert_elements(const TensorEntry& tensor, DType dtype, std::span<std::byte> out,
                      const std::string& where);

}  // namespace trainx::checkpoint
