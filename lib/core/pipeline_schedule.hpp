#pragma once
#include <cstdint>

namespace trainx {

/// In which order the stages of a pipeline compute. one_f_one_b: each has as few micro-steps under
/// way as keep all of them busy, then a forward and a backward by turns (Narayanan et al. 2021,
/// arXiv:2006.09503, section 3.1). interleaved: each computes several chunks of layers, and idles
/// less at the ends of a step by as much (Narayanan et al. 2021, arXiv:2104.04473, section 2.2).
enum class PipelineSchedule : std::uint8_t { one_f_one_b, interleaved };

}  // namespace trainx
