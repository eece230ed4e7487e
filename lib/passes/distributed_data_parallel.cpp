#include "passes/pass_order.hpp"
#include "passes/passes.hpp"
#include "passes/summed.hpp"

namespace trainx::passes {

using namespace program;

StepProgram distributed_data_parallel(StepProgram p, const ReduceOptions& how) {
  enter(p, Pass::distributed_data_parallel);
  join_whole(p, how.mesh);
  std::vector<std::vector<Instruction>> behind(p.steady.size());
  for (const Bucket& bucket : buckets_of(p, how.bucket_bytes))
    behind[bucket.last_writer].push_back(reduce_of(bucket));
  std::vector<Instruction> steady;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    steady.push_back(std::move(p.steady[k]));
    std::move(behind[k].begin(), behind[k].end(), std::back_inserter(steady));
  }
  p.steady = std::move(steady);
  return p;
}

}  // namespace trainx::passes
