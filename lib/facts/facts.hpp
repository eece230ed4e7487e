// What is looked up, not decided: the machine, the data, the model folder. Plain data; planning is
// a pure function of (Recipe, Facts).
#pragma once
#include "recipe/recipe.hpp"
#include "architectures/architecture.hpp"
#include "facts/own_rule.hpp"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>
#include <nlohmann/json_fwd.hpp>

namespace trainx::facts {

/// Of a GPU to the others of its host, which stand in the order of HardwareFacts::gpus.
struct GpuLinks {
  std::int64_t pcie_generation = 0, pcie_width = 0;  // that GPU and slot have; 0: not told
  double nvlink_bytes_per_s = 0;                     // of one NVLink, each way; 0: not told
  std::vector<std::int64_t> nvlinks;                 // to each GPU; empty: not told
  std::vector<bool> reaches;                         // each GPU's memory; empty: not told
  bool operator==(const GpuLinks&) const = default;
};

/// As NVML tells; 0: not told.
struct Gpu {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90: 9.0
  std::int64_t memory_bytes = 0;
  int cores = 0;
  int clock_mhz = 0;  // the highest of multiprocessors
  // of memory, by its highest clock and its bus
  std::int64_t memory_bytes_per_s = 0;
  std::string address;  // PCI: "0000:17:00.0"; empty: not told
  GpuLinks links = {};
  bool operator==(const Gpu&) const = default;
};

/// Between this host and others, as `trainx doctor --hosts` measured it.
struct NetworkFacts {
  std::int64_t hosts = 0, ranks_per_host = 0;  // that took part; 0: it was not measured
  // that a host sends to the next one in sums of all its ranks at once, and theirs of a few bytes
  double bytes_per_s = 0, latency_s = 0;
  // of sums among a host's ranks, sent by each; 0: not measured
  double link_bytes_per_s = 0, link_latency_s = 0;
};

struct HardwareFacts {
  std::string host, cpu;
  std::int64_t cpu_cores = 1;     // this process may use (affinity, cgroup)
  std::int64_t memory_bytes = 0;  // installed, or the cgroup's limit if lower
  std::vector<Gpu> gpus;          // empty without a driver
  // NCCL_P2P_DISABLE=1: GPUs leave each other's memory alone, and exchange through the host's
  bool peers_are_off = false;
  bool has_cuda_parts = true;  // of this trainx: without them it leaves the GPUs alone
  // of the run, on this machine: they share its cores and, without GPUs, its memory
  std::int64_t local_ranks = 1;
  // Of the GPUs' links, as `trainx doctor` measured them on this machine; 0: it did not.
  double link_bytes_per_s = 0, link_latency_s = 0;  // of sums over all GPUs, sent by each
  // of copies to the host and back, the slower
  double host_bytes_per_s = 0;
  // of optimizers' updates in the host's memory, by all cores together; 0: not measured
  double host_update_bytes_per_s = 0;
  NetworkFacts network;
  std::vector<std::string> gpu_names() const;
  std::int64_t threads_of_rank() const {
    return std::max<std::int64_t>(1, cpu_cores / local_ranks);
  }
};

struct DataFacts {
  bool train_present = false, eval_present = false;
  std::int64_t train_samples = 0, eval_samples = 0;
  std::int64_t vocab_size = 0;               // 0: the source does not say
  std::optional<double> entropy_floor_nats;  // per token of the eval split, where known
  std::string problem;                       // why train is not present
  std::string eval_problem;                  // why eval is not present though the recipe names it
  bool gives_targets = false;                // masked_lm: of the first sample of train
  std::vector<std::string> label_names;      // of the classes; empty: they have numbers alone
};

/// Ids of a tokenizer, which masks are drawn with.
struct MaskingFacts {
  std::string tokenizer;  // its file, or the FILE.json that says the ids
  std::int64_t mask_token = -1;
  std::vector<std::int64_t> special_tokens;
};

/// config.json of a Hugging Face folder.
struct ModelFolderFacts {
  std::string path;
  std::string config;  // its text, from which the worker reads the same dimensions
  architectures::ModelDims dims;
  bool head_is_tied = false;    // its weights lack the head that its config.json leaves open
  bool head_is_parted = false;  // an adapter of it changes the head or the embedding alone
};

/// The folder that model.adapter.init_from names.
struct AdapterFolderFacts {
  std::string path;
  std::string config;                // the text of its adapter_config.json
  std::vector<std::string> tensors;  // names in its weights; none: it has no such file
};

/// Where memory.optimizer_offload puts its file.
struct OffloadFolderFacts {
  std::string folder;
  std::optional<std::int64_t> free_bytes;  // nothing: its file system does not say
  double bytes_per_s = 0;                  // of reads and writes in turn, measured; 0: it was not
};

struct Facts {
  HardwareFacts hardware;
  DataFacts data;
  std::optional<OffloadFolderFacts> offload_folder;  // of recipes that use one
  std::optional<ModelFolderFacts> model_folder;
  std::optional<AdapterFolderFacts> adapter_folder;
  // masked_lm: of the tokenizer of the data, else of the model's folder, where one is known
  std::optional<MaskingFacts> masking;
  // of a model of the user's own: what its worker measured, for the sizes that the plan needs
  std::vector<architectures::CustomShape> model_shapes;
  // of an optimizer of the user's own, where it was measured
  std::optional<OwnRuleFacts> own_rule;
};

HardwareFacts detect_hardware();
/// Throws UserError 66 or 65.
ModelFolderFacts look_at_model_folder(const std::string& path);
/// Throws UserError 66 or 65.
AdapterFolderFacts look_at_adapter_folder(const std::string& path);
/// Do the folder's weights lack the head (architectures::head_of_own) that `dims` of its
/// config.json leave open? Throws UserError 65 or 66 of its weights.
bool lacks_own_head(const std::string& folder, const architectures::ModelDims& dims);
/// The folder that memory.optimizer_offload names, else the run's.
std::string offload_folder_of(const recipe::Recipe& recipe);
OffloadFolderFacts look_at_offload_folder(const std::string& folder, bool measures_speed);
/// Looks at the recipe's data and model folder. Missing data is noted, not thrown; a model folder
/// that cannot be read throws UserError 66 or 65.
Facts gather_facts(const recipe::Recipe& recipe);

nlohmann::json to_json(const Facts& facts);
Facts facts_from_json(const nlohmann::json& j);

}  // namespace trainx::facts
