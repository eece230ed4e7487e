#include "operations/common/timed_work.hpp"
#include "operations/expert_loads/expert_loads.hpp"

namespace trainx::operations {

void add_expert_loads(const ExpertLoads& l, const Tensor& loads, const Tensor& offsets,
                      bool accumulate) {
  const TimedWork timed(Work::other);
  auto* const to = loads.as<double>();
  const auto* const of = offsets.as<const std::int32_t>();
  const auto put = [&](std::int64_t column, std::int64_t count) {
    to[column] = (accumulate ? to[column] : 0) + static_cast<double>(count);
  };
  for (std::int64_t e = 0; e < l.experts; ++e) put(e, of[e + 1] - of[e]);
  put(l.experts, l.choices - of[l.experts]);
}

}  // namespace trainx::operations
