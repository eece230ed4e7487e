#pragma once
#include "core/descriptor.hpp"
#include <string>
#include <string_view>

namespace trainx::facts {

/// The network that NCCL says it uses: "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>".
/// Empty: it says none. `log`: what NCCL_DEBUG=INFO writes.
std::string network_in_nccl_log(std::string_view log);

/// Has NCCL write what it chooses into memory of this process; nothing where the user has set
/// NCCL_DEBUG or NCCL_DEBUG_FILE. Made before NCCL begins, which reads the environment once.
class NcclLog {
 public:
  explicit NcclLog(bool wanted);
  std::string network() const;

 private:
  Descriptor memory_;
};

}  // namespace trainx::facts
