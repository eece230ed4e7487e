#include "execute/cuda/gpu_device.hpp"
#include "core/units.hpp"
#include "gpu/gpu_error.hpp"
#include "hardware/support.hpp"
#include "log/log.hpp"
#include "plan/rank_groups.hpp"
#include "plan/refusal.hpp"
#include "plan/shared_weights.hpp"
#include "architectures/library_bytes.hpp"
#include "program/frozen.hpp"
#include "operations/attention/torch_attention.hpp"
#include "operations/common/gpu_scope.hpp"
#include "execute/cuda/gpu_executor.hpp"
#include <algorithm>
#include <cstdio>
#include <map>

namespace trainx::execute {
namespace {

// The first buffers are the residents, placed below all else; the same in every program. `derived`:
// with those that are neither loaded nor saved, which are the last.
std::int64_t bytes_of_residents(const plan::PlacedProgram& placed, bool derived) {
  std::int64_t end = 0;
  for (std::size_t b = 0; b < placed.program.buffers.size() && placed.program.buffers[b].resident;
       ++b)
    if (const program::Buffer& buffer = placed.program.buffers[b];
        buffer.space == program::Space::device && (derived || !is_derived(buffer)))
      end = std::max(end, placed.placement.base[b] + buffer.bytes());
  return end;
}

// Launchers show a process all GPUs of the host, of which it takes its own, or that one alone.
int index_of(int local_rank, int count) {
  if (count == 1 || local_rank < count) return count == 1 ? 0 : local_rank;
  throw gpu::GpuError(
      ExitCode::unavailable,
      "rank " + std::to_string(local_rank) + " of this host has no GPU: " + std::to_string(count) +
          " are visible (CUDA_VISIBLE_DEVICES); start as many ranks as there are GPUs");
}

cudaDeviceProp open_gpu(int local_rank) {
  int count = 0, driver = 0;
  // 0: there is none, which cudaGetDeviceCount calls insufficient
  cudaDriverGetVersion(&driver);
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
    throw gpu::GpuError(
        ExitCode::unavailable,
        std::string("no GPU can be used: ") +
            (driver == 0 ? "there is no NVIDIA driver on this machine; install it, or"
             : error == cudaErrorInsufficientDriver
                 ? "its driver is too old for CUDA 13; update it (580 or newer), or"
             : error != cudaSuccess
                 ? cudaGetErrorString(error) + std::string(";")
                 : "the driver shows none to this process (CUDA_VISIBLE_DEVICES);") +
            " set run.device to cpu to train without one");
  const int index = index_of(local_rank, count);
  const std::string gpu = "GPU " + std::to_string(index);
  cudaDeviceProp properties{};
  gpu::require(cudaGetDeviceProperties(&properties, index),
               gpu + " cannot be asked for its properties");
  if (const auto no =
          hardware::why_unsupported(properties.name, 10 * properties.major + properties.minor))
    throw gpu::GpuError(ExitCode::unavailable, no->sentence());
  gpu::name_device(gpu + " (" + properties.name + ")");
  const cudaError_t error = cudaSetDevice(index);
  if (error == cudaErrorDevicesUnavailable)
    throw gpu::GpuError(ExitCode::unavailable,
                        gpu +
                            " cannot be used: another process has it alone, or it waits for a "
                            "reset; `trainx doctor` shows which");
  gpu::require(error, gpu + " cannot be used");
  return properties;
}

// `plan`: what could be smaller.
gpu::DeviceMemory allocate(std::int64_t bytes, const std::string& what, const plan::RunPlan& plan) {
  void* p = nullptr;
  const cudaError_t error = cudaMalloc(&p, static_cast<std::size_t>(bytes));
  if (error != cudaErrorMemoryAllocation) {
    gpu::require(error, "device memory for " + what);
    return gpu::DeviceMemory(p);
  }
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  const auto available = static_cast<std::int64_t>(free);
  const std::string holders = gpu::PowerMeter().others(),
                    remedy = plan::what_would_fit(plan, available,
                                                  plan.step_rates ? &*plan.step_rates : nullptr);
  throw gpu::GpuError(ExitCode::out_of_memory,
                      "the GPU refuses " + human_bytes(bytes) + " for " + what + ": " +
                          human_bytes(available) + " of " +
                          human_bytes(static_cast<std::int64_t>(total)) + " are free" +
                          (holders.empty() ? "" : " (" + holders + ")") + "; " +
                          (remedy.empty() ? "nothing in the recipe makes the run fit: end what "
                                            "else runs there (nvidia-smi), or take a smaller model"
                                          : remedy));
}

gpu::PinnedMemory allocate_on_host(std::int64_t bytes, const plan::RunPlan& plan,
                                   const plan::MemoryPlan& memory) {
  void* p = nullptr;
  if (const cudaError_t error =
          cudaHostAlloc(&p, static_cast<std::size_t>(bytes), cudaHostAllocDefault);
      error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw gpu::GpuError(ExitCode::out_of_memory,
                        "the machine refuses " + human_bytes(bytes) + " of pinned host memory; " +
                            plan::what_needs_less_host_memory(plan, memory));
  } else {
    gpu::require(error, "pinned host memory");
  }
  return gpu::PinnedMemory(p);
}

}  // namespace

std::string gpu_identity(int local_rank) {
  const cudaDeviceProp properties = open_gpu(local_rank);
  std::string text = std::string(properties.name) + " ";
  for (const char byte : properties.uuid.bytes) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(byte));
    text += hex;
  }
  return text;
}

namespace {

/// The first of each group makes its id, and all hear all of them. All ranks call it at the same
/// time.
std::unique_ptr<gpu::NcclCommunicator> communicator_among(const std::vector<int>& members,
                                                          const Ranks& ranks, int processors) {
  const bool is_first = members.front() == ranks.rank();
  const std::vector<std::string> ids =
      ranks.exchange(is_first ? gpu::NcclCommunicator::make_id() : "");
  const auto place = static_cast<int>(std::ranges::find(members, ranks.rank()) - members.begin());
  return std::make_unique<gpu::NcclCommunicator>(ids.at(static_cast<std::size_t>(members.front())),
                                                 place, static_cast<int>(members.size()),
                                                 processors);
}

/// Of `members`, the ranks from which this one gathers. Null where a rank cannot reach a member's
/// memory, or a member is on another host: then none copies. All ranks call it at the same time.
std::unique_ptr<gpu::PeerMemory> memory_of_others(std::byte* own, const Ranks& ranks,
                                                  const std::vector<int>& members) {
  const std::vector<std::string> offers = ranks.exchange(gpu::PeerMemory::offer(own));
  auto peers = ranks.are_on_one_host(members)
                   ? gpu::PeerMemory::open(offers, members, ranks.rank(), own)
                   : nullptr;
  const std::vector<std::string> opened = ranks.exchange(peers ? "opened" : "");
  return std::ranges::count(opened, "") == 0 ? std::move(peers) : nullptr;
}

}  // namespace

GpuDevice::GpuDevice(const plan::RunPlan& plan, const Ranks& ranks)
    : plan_(plan),
      role_(plan.role(ranks.rank())),
      name_(open_gpu(ranks.local_rank()).name),
      arena_bytes_(role_.memory.arena_bytes),
      workspace_bytes_(role_.memory.library_bytes),
      residents_(std::make_unique<Arena>(
          std::max<std::int64_t>(1, bytes_of_residents(role_.train.front(), false)))),
      downloaded_{{0, residents_->bytes()}} {
  stream_ = gpu::make_stream("stream");
  arena_memory_ = allocate(arena_bytes_, "the run's arena", plan);
  arena_ = arena_memory_.as<std::byte>();
  workspace_ = allocate(workspace_bytes_, "the workspace of matrix products and attention", plan);
  if (const std::int64_t bytes = role_.memory.host_bytes; bytes > 0) {
    std::vector<program::Range> shared =
        ranks.share_hosts() ? plan::shared_pages(plan, role_.train.front(), program::Space::host)
                            : std::vector<program::Range>{};
    if (shared.empty())
      host_ = allocate_on_host(bytes, plan, role_.memory);
    else
      shared_host_ = std::make_unique<PinnedArena>(bytes, std::move(shared));
  }
  if ((disk_ = make_disk(plan, role_))) disk_->try_memory(host());
  const std::int64_t counter_bytes = kernels::fold_words *
                                     static_cast<std::int64_t>(sizeof(std::uint32_t));
  counters_ = allocate(counter_bytes, "counters", plan);
  gpu::require(cudaMemsetAsync(counters_, 0, static_cast<std::size_t>(counter_bytes), stream_),
               "counters");
  taken_ = arena_bytes_ + workspace_bytes_ + counter_bytes;
  // Tuned choices depend on what other processes have measured, the library's own do not.
  gemm_ = std::make_unique<gpu::Gemm>(
      plan.recipe.run.deterministic ? "" : gpu::Gemm::default_cache_file());
  meter_ = std::make_unique<gpu::PowerMeter>();
  const program::Mesh& mesh = plan.mesh;
  if (plan.zero_stage() > 0 && ranks.world_size() > 1)
    peers_ = memory_of_others(arena_, ranks, mesh.peers(program::axes::shard, ranks.rank()));
  if (peers_)
    log::debug("gathers by copies from " + std::to_string(mesh.size(program::axes::shard)) +
               " GPUs of this host");
  const int processors = peers_ ? gpu::NcclCommunicator::many : gpu::NcclCommunicator::few;
  if (ranks.world_size() > 1)
    nccl_ = std::make_unique<gpu::NcclCommunicator>(
        ranks.from_first(ranks.is_first() ? gpu::NcclCommunicator::make_id() : ""), ranks.rank(),
        ranks.world_size(), processors);
  if (ranks.world_size() > 1)
    for (const program::AxisSet along : plan::rank_groups_of(plan.program_set))
      groups_[along] = communicator_among(mesh.peers(along, ranks.rank()), ranks, processors);
  attention_ = std::make_unique<gpu::Attention>();
  open_libtorch();
  ops_.gemm = gemm_.get();
  ops_.attention = attention_.get();
  ops_.torch = torch_.get();
  ops_.space = {stream_, workspace_, workspace_bytes_};
  ops_.gemm_space = {stream_, workspace_,
                     std::min(workspace_bytes_, architectures::gemm_workspace_bytes)};
  // one instruction at a time uses the workspace
  ops_.fold = {workspace_.as<float>(), counters_.as<std::uint32_t>()};
  ops_.sort = workspace_;
  ops_.deterministic = plan.recipe.run.deterministic;
  ops_.tf32 = plan.recipe.precision.compute == recipe::Compute::tf32;
}

// The workspace ends with what code of the user's own takes: modules, a rule's temporaries, and the
// elements that are laid out for it.
void GpuDevice::open_libtorch() {
  const bool tf32 = plan_.recipe.precision.compute == recipe::Compute::tf32;
  const AttentionKind attention = plan_.recipe.model.attention;
  const plan::OwnRuleMemory planned = plan::own_rule_memory(plan_, role_);
  if (planned.elements > 0)
    workspace_bytes_ = (workspace_bytes_ - planned.rule_bytes - planned.staged_bytes) /
                       plan::own_rule_alignment * plan::own_rule_alignment;
  const OwnCodeMemory::Piece rule{workspace_.as<std::byte>() + workspace_bytes_,
                                  planned.rule_bytes};
  std::byte* const staged = static_cast<std::byte*>(rule.memory) + rule.bytes;
  if (operations::cuda::is_torch(attention)) {
    std::optional<operations::cuda::TorchProducts> products;
    if (attention == AttentionKind::math) products = {plan_.compute, tf32};
    workspace_bytes_ += rule.bytes;
    torch_ = std::make_unique<operations::cuda::TorchCuda>(stream_, workspace_, workspace_bytes_,
                                                           products);
    workspace_bytes_ -= torch_->kept_bytes();
  } else {
    has_own_modules_ = std::holds_alternative<architectures::CustomDims>(plan_.dims);
    OwnCodeMemory::Piece modules;
    if (has_own_modules_) {
      modules.bytes = workspace_bytes_ - architectures::module_workspace_bytes;
      workspace_bytes_ = architectures::module_workspace_bytes;
      modules.memory = workspace_.as<std::byte>() + workspace_bytes_;
    }
    if (has_own_modules_ || rule.bytes > 0) {
      own_memory_ = std::make_unique<OwnCodeMemory>(modules, rule);
      torch_ = std::make_unique<operations::cuda::TorchCuda>(
          stream_, *own_memory_,
          operations::cuda::TorchModules{tf32, plan_.recipe.run.deterministic});
    }
  }
  if (planned.elements > 0)
    own_rules_ = std::make_unique<OwnRules>(
        std::get<options::OwnOptimizerOptions>(plan_.recipe.optimizer.options), planned, staged,
        torch_.get(), own_memory_.get());
}

GpuDevice::~GpuDevice() {
  cudaStreamSynchronize(stream_);
  beside_.reset();
  peers_.reset();
  groups_.clear();
  nccl_.reset();
  torch_.reset();
}

bool GpuDevice::steps_change_residents() const {
  const plan::PlacedProgram& train = role_.train.front();
  return std::ranges::any_of(train.program.buffers, [&](const program::Buffer& b) {
    return b.resident && b.space == program::Space::host && !is_frozen(train.graph, b);
  });
}

namespace {

std::vector<Range> all_but(std::vector<std::span<const std::byte>> spans, const Arena& arena) {
  std::ranges::sort(spans, {}, [](const auto& span) { return span.data(); });
  std::vector<Range> out;
  std::int64_t at = 0;
  for (const auto& span : spans) {
    const std::int64_t begin = span.data() - arena.data();
    if (begin > at) out.push_back({at, begin});
    at = begin + static_cast<std::int64_t>(span.size());
  }
  if (arena.bytes() > at) out.push_back({at, arena.bytes()});
  return out;
}

}  // namespace

// Zeros are made on the GPU: reading them here would take memory and time for pages that nobody has
// written.
void GpuDevice::upload(const NotUploaded& parts) {
  struct Gap {
    std::int64_t end;
    bool is_zero;
  };
  std::map<std::int64_t, Gap> gaps;  // by the offset of their beginning
  const auto leave_out = [&](const std::vector<std::span<const std::byte>>& spans, bool is_zero) {
    for (const auto& span : spans) {
      const std::int64_t begin = span.data() - residents_->data();
      gaps[begin] = {begin + static_cast<std::int64_t>(span.size()), is_zero};
    }
  };
  leave_out(parts.zeros, true);
  leave_out(parts.drawn, false);
  std::int64_t at = 0;
  const auto copy_to = [&](std::int64_t end) {
    if (end > at)
      gpu::require(
          cudaMemcpyAsync(arena_ + at, residents_->data() + at, static_cast<std::size_t>(end - at),
                          cudaMemcpyHostToDevice, stream_),
          "weights to the GPU");
  };
  for (const auto& [begin, gap] : gaps) {
    copy_to(begin);
    if (gap.is_zero)
      gpu::require(
          cudaMemsetAsync(arena_ + begin, 0, static_cast<std::size_t>(gap.end - begin), stream_),
          "optimizer states on the GPU");
    at = gap.end;
  }
  copy_to(residents_->bytes());
  gpu::require(cudaStreamSynchronize(stream_), "weights to the GPU");
  downloaded_ = all_but(parts.constants, *residents_);
}

void GpuDevice::download() {
  for (const Range& range : downloaded_)
    gpu::require(cudaMemcpyAsync(residents_->data() + range.begin, arena_ + range.begin,
                                 static_cast<std::size_t>(range.end - range.begin),
                                 cudaMemcpyDeviceToHost, stream_),
                 "weights from the GPU");
  gpu::require(cudaStreamSynchronize(stream_), "weights from the GPU");
}

void GpuDevice::upload_part(std::span<const std::byte> part) {
  const std::ptrdiff_t at = part.data() - residents_->data();
  if (at < 0 || at >= residents_->bytes()) return;  // in pinned memory
  gpu::require(
      cudaMemcpyAsync(arena_ + at, part.data(), part.size(), cudaMemcpyHostToDevice, stream_),
      "numbers to the GPU");
  gpu::require(cudaStreamSynchronize(stream_), "numbers to the GPU");
}

template <class T>
T* GpuDevice::in_arena(T* place) const {
  const std::ptrdiff_t at = reinterpret_cast<std::byte*>(place) - residents_->data();
  return !place || at < 0 || at >= residents_->bytes() ? place : reinterpret_cast<T*>(arena_ + at);
}

void GpuDevice::draw(std::span<const InitialPart> parts) {
  for (const InitialPart& part : parts) {
    const kernels::InitialPlaces& to = part.to;
    gpu::require(kernels::initial_values({in_arena(to.exact), in_arena(to.average),
                                          in_arena(to.bf16), in_arena(to.low), in_arena(to.fp16)},
                                         part.values, stream_),
                 "initial weights on the GPU");
  }
  gpu::require(cudaStreamSynchronize(stream_), "initial weights on the GPU");
}

void GpuDevice::keep(std::span<std::byte> part) {
  gpu::require(cudaMemcpyAsync(in_arena(part.data()), part.data(), part.size(),
                               cudaMemcpyHostToDevice, stream_),
               "weights to the GPU");
  gpu::require(cudaStreamSynchronize(stream_), "weights to the GPU");
  residents_->forget(part);
}

// By memory of its own: copies to memory of which a page is pinned, as those beside it may be, are
// refused.
void GpuDevice::download_part(std::span<std::byte> part) {
  std::vector<std::byte> memory(std::min<std::size_t>(part.size(), std::size_t{64} << 20));
  while (!part.empty()) {
    const std::span<std::byte> piece = part.first(std::min(part.size(), memory.size()));
    gpu::require(cudaMemcpyAsync(memory.data(), in_arena(piece.data()), piece.size(),
                                 cudaMemcpyDeviceToHost, stream_),
                 "weights from the GPU");
    gpu::require(cudaStreamSynchronize(stream_), "weights from the GPU");
    std::ranges::copy(std::span(memory).first(piece.size()), piece.begin());
    part = part.subspan(piece.size());
  }
}

// Not before all is uploaded: a copy from memory of which a part is pinned is refused.
void GpuDevice::expect_downloads() {
  beside_ = std::make_unique<AsyncDownload>(*residents_, arena_, downloaded_);
}

void GpuDevice::begin_download() {
  if (beside_)
    beside_->begin(stream_);
  else
    download();
}

double GpuDevice::end_download() { return beside_ ? beside_->end() : 0; }

void GpuDevice::compute(const std::function<void()>& work) {
  const operations::GpuScope scope(ops_);
  work();
  gpu::require(cudaStreamSynchronize(stream_), "operations on the GPU");
}

std::int64_t GpuDevice::process_bytes() const {
  if (const auto bytes = meter_->process_bytes()) return *bytes;
  // a container hides processes from the driver's list: all that is taken on this GPU
  std::size_t free = 0, total = 0;
  gpu::require(cudaMemGetInfo(&free, &total), "GPU memory cannot be read");
  return static_cast<std::int64_t>(total - free);
}

int GpuDevice::tune() {
  if (plan_.recipe.run.deterministic) return 0;
  gpu::require(cudaStreamSynchronize(stream_), "tuning");
  auto problems = gemm_->untuned(ops_.gemm_space.workspace_bytes);
  // Between steps only the residents at the arena's beginning are alive.
  const std::int64_t begin = (bytes_of_residents(role_.train.front(), true) + 255) / 256 * 256,
                     bytes = arena_bytes_ - begin;
  std::erase_if(problems,
                [&](const gpu::GemmProblem& p) { return gpu::Gemm::tuning_bytes(p) > bytes; });
  if (problems.empty()) return 0;
  for (const gpu::GemmProblem& p : problems) gemm_->tune(p, ops_.gemm_space, arena_ + begin, bytes);
  gemm_->save_tuned();
  ++tunings_;
  return static_cast<int>(problems.size());
}

std::unique_ptr<Executor> GpuDevice::make_executor(const std::vector<plan::PlacedProgram>& programs,
                                                   ExecutorParts parts) {
  return std::make_unique<GpuExecutor>(*this, programs, std::move(parts));
}

}  // namespace trainx::execute
