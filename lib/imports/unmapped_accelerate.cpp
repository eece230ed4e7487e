#include "imports/reasons.hpp"
#include "imports/unmapped.hpp"

namespace trainx::imports {
namespace {

using namespace reasons;

constexpr std::string_view each_host =
    "start `trainx train` on each host, with --nnodes, --node-rank and --master-addr";

constexpr Unmapped accelerate_table[]{
    {"compute_environment", "LOCAL_MACHINE", starts_here},
    {"gpu_ids", "all", "CUDA_VISIBLE_DEVICES selects GPUs"},
    {"main_process_ip", "", "the address is said at launch: --master-addr, on each host"},
    {"main_process_port", "", "the port is said at launch: --master-port, on each host"},
    {"main_training_function", "*", ""},
    {"rdzv_*", "*", ""},
    {"same_network", "*", ""},
    {"deepspeed_hostfile", "", each_host},
    {"deepspeed_config.deepspeed_config_file", "", "give that file too"},
    {"deepspeed_config.deepspeed_multinode_launcher", "*", ""},
    {"deepspeed_config.deepspeed_hostfile", "", each_host},
    {"deepspeed_config.offload_*", "none", "acts with a device"},
    {"deepspeed_config.zero3_*", "*", ""},  // act with zero_stage 3
    {"deepspeed_config.deepspeed_moe_layer_cls_names", "", no_model_parallelism},
    {"fsdp_config*", "*", ""},  // acts with distributed_type FSDP
    {"megatron_lm_config*", "", no_model_parallelism},
    {"parallelism_config*", "", no_model_parallelism},
    {"dynamo_config.dynamo_backend", "no", no_compiler},
    {"dynamo_config.dynamo_*", "*", ""},  // act with a backend
    {"dynamo_backend", "no", no_compiler},
    {"fp8_config*", "", precisions},
    {"downcast_bf16", "false|no", other_devices},
    {"tpu_*", "*", ""},
    {"command*", "", starts_here},
    {"enable_cpu_affinity", "*", ""},
    {"mpirun_*", "", "under mpirun each process of `trainx train` is one rank"},
    {"ipex_config*", "", own_kernels},
    {"use_xpu", "false", other_devices},
    {"debug", "*", ""},
    {"ec2_instance_type", "", starts_here},
};

}  // namespace

std::span<const Unmapped> accelerate_unmapped() { return accelerate_table; }

}  // namespace trainx::imports
