#include "launch/bind_workers.hpp"
#include "facts/core_binding.hpp"
#include "log/log.hpp"

namespace trainx::launch {

void bind_workers(LaunchPlan& plan, const std::vector<facts::Gpu>& gpus) {
  const int ranks = plan.first.local_world_size;
  if (ranks < 2) return;
  const facts::CoreBinding binding = facts::binding_of_host(ranks, gpus);
  if (binding.of_rank.empty())
    return log::debug("ranks are not bound to cores: " + binding.why_not);
  for (int i = 0; i < plan.workers; ++i)
    plan.cores.push_back(
        binding.of_rank.at(static_cast<std::size_t>(plan.membership(i).local_rank)));
}

}  // namespace trainx::launch
