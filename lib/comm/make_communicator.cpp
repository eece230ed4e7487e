#include "core/error.hpp"
#include "comm/lone_communicator.hpp"
#include "comm/shared_memory_communicator.hpp"
#include "comm/tcp_communicator.hpp"

namespace trainx::comm {

std::unique_ptr<Communicator> make_communicator(Control& control, const std::string& forced) {
  if (!forced.empty() && forced != "shared memory" && forced != "TCP")
    throw InternalError("make_communicator: no transport " + forced);
  if (control.world_size() == 1) return std::make_unique<LoneCommunicator>();
  std::string why = "the ranks run on several hosts";
  if (forced != "TCP" && control.one_host())
    if (auto shared = SharedMemoryCommunicator::make(control, why)) return shared;
  if (forced == "shared memory")
    throw UserError(ExitCode::unavailable,
                    "the ranks share no memory: " + why + "; let them use TCP");
  return std::make_unique<TcpCommunicator>(control);
}

}  // namespace trainx::comm
