#pragma once

namespace trainx::kernels {

/// What a norm and the sum before it may do beside a LayerNorm with weight and shift.
struct NormForm {
  bool rms = false;          // RMSNorm (Zhang & Sennrich 2019, arXiv:1910.07467): no mean
  double weight_offset = 0;  // added to the norm's weight
  double branch_scale = 1;   // of what is added to the residual, behind its dropout
  bool is_plain() const { return !rms && weight_offset == 0 && branch_scale == 1; }
};

/// The same in the kernels' types.
struct NormFactors {
  bool rms;
  float weight_offset, branch_scale;
};
inline NormFactors factors_of(const NormForm& f) {
  return {f.rms, static_cast<float>(f.weight_offset), static_cast<float>(f.branch_scale)};
}

}  // namespace trainx::kernels
