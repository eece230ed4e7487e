// ResidentState beside a device with memory of its own, which a test has on the host.
#include "small_run.hpp"
#include <algorithm>

namespace trainx::train::drawn_weights_test {
namespace {

/// A device whose memory is another arena than residents(), in which it draws by the reference.
class OwnMemory final : public execute::Device {
 public:
  OwnMemory(const plan::PlacedProgram& placed, std::byte* host)
      : residents_(placed.placement.peak_of(program::Space::device)),
        memory_(residents_.bytes()),
        host_(host) {
    std::memset(residents_.data(), 0xFF, static_cast<std::size_t>(residents_.bytes()));
    std::memset(memory_.data(), 0xFF, static_cast<std::size_t>(memory_.bytes()));
  }
  execute::Arena& residents() override { return residents_; }
  std::byte* host() const override { return host_; }
  disk::Disk* disk() const override { return nullptr; }
  bool steps_change_residents() const override { return false; }
  void upload(const execute::NotUploaded& parts) override {
    std::vector<bool> left_out(static_cast<std::size_t>(residents_.bytes()));
    for (const auto* spans : {&parts.zeros, &parts.drawn})
      for (const auto& span : *spans)
        std::fill_n(left_out.begin() + (span.data() - residents_.data()), span.size(), true);
    for (std::size_t i = 0; i < left_out.size(); ++i)
      if (!left_out[i]) memory_.data()[i] = residents_.data()[i];
    for (const auto& span : parts.zeros)
      std::memset(memory_.data() + (span.data() - residents_.data()), 0, span.size());
    constants = parts.constants.size();
  }
  void download() override {}
  bool has_own_memory() const override { return true; }
  void draw(std::span<const execute::InitialPart> parts) override {
    for (const auto& [to, values] : parts)
      kernels::initial_values_reference(
          {here(to.exact), here(to.average), here(to.bf16), here(to.low), here(to.fp16)}, values);
    ++groups_drawn;
  }
  void keep(std::span<std::byte> part) override {
    std::memcpy(here(part.data()), part.data(), part.size());
    std::memset(part.data(), 0xFF, part.size());  // whoever reads it without asking sees NaN
    ++groups_kept;
  }
  void download_part(std::span<std::byte> part) override {
    std::memcpy(part.data(), here(part.data()), part.size());
    ++parts_downloaded;
  }
  std::byte* memory() override { return memory_.data(); }
  void compute(const std::function<void()>& work) override { work(); }
  std::unique_ptr<execute::Executor> make_executor(const std::vector<plan::PlacedProgram>&,
                                                   execute::ExecutorParts) override {
    return nullptr;
  }
  std::int64_t arena_bytes() const override { return memory_.bytes(); }
  std::int64_t peak_bytes() const override { return memory_.bytes(); }
  std::int64_t process_bytes() const override { return memory_.bytes(); }
  std::string name() const override { return "memory of its own"; }

  int groups_drawn = 0, groups_kept = 0, parts_downloaded = 0;
  std::size_t constants = 0;

 private:
  template <class T>
  T* here(T* place) const {
    auto* const at = reinterpret_cast<std::byte*>(place);
    const bool inside = at >= residents_.data() && at < residents_.data() + residents_.bytes();
    return inside ? reinterpret_cast<T*>(memory_.data() + (at - residents_.data())) : place;
  }
  execute::Arena residents_, memory_;
  std::byte* host_;
};

std::vector<std::vector<std::byte>> bytes_of(const std::vector<checkpoint::TensorSource>& tensors) {
  std::vector<std::vector<std::byte>> out;
  for (const checkpoint::TensorSource& t : tensors) {
    std::int64_t bytes = size_of(t.dtype);
    for (const std::int64_t d : t.dims) bytes *= d;
    out.emplace_back(static_cast<std::size_t>(bytes));
    if (t.prepare) t.prepare();
    t.fill(out.back());
  }
  return out;
}

/// Of weights, exact weights and states on the device.
std::vector<std::vector<std::byte>> residents_of(const plan::PlacedProgram& placed,
                                                 const std::byte* base) {
  using program::Role;
  std::vector<std::vector<std::byte>> out;
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b) {
    const program::Buffer& buffer = placed.program.buffers[b];
    const bool compared = buffer.role == Role::parameter || buffer.role == Role::master ||
                          buffer.role == Role::state;
    if (!buffer.resident || !compared || buffer.space != program::Space::device) continue;
    const std::byte* const at = base + placed.placement.base[b];
    out.emplace_back(at, at + buffer.bytes());
  }
  return out;
}

plan::RunPlan adapter_plan(const std::string& precision) {
  const std::string text =
      "run: {name: small, seed: 5, duration: 10 steps}\nmodel: {type: gpt2, options: {num_layers: "
      "2, num_heads: 2, hidden_size: 16, max_positions: 12, vocab_size: 500}, adapter: {type: "
      "lora, rank: 2, alpha: 4, targets: all_linear}}\ndata: {type: stories, sequence_length: 12, "
      "samples: 64, eval_samples: 7}\nbatch: {global_batch_size: 4, micro_batch_size: 2}\n"
      "precision: " +
      precision + "\n";
  return plan::make_run_plan(recipe::parse_recipe(text, "small").recipe, small_facts());
}

void check(const plan::RunPlan& plan, bool adapter) {
  const plan::PlacedProgram& placed = plan.role().train[0];
  const std::int64_t host_bytes =
      std::max<std::int64_t>(1, placed.placement.peak_of(program::Space::host));
  const bool on_host = placed.placement.peak_of(program::Space::host) > 0;
  execute::Arena arena(placed.placement.peak_of(program::Space::device)), host(host_bytes),
      own_host(host_bytes);
  state::ResidentState by_cpu(placed, {arena, on_host ? host.data() : nullptr}, plan.update.states);
  by_cpu.initialize(5);
  OwnMemory device(placed, on_host ? own_host.data() : nullptr);
  state::ResidentState by_device(placed, state::ResidentMemory(device), plan.update.states);
  by_device.initialize(5);
  CHECK(device.groups_drawn == static_cast<int>(placed.graph.groups.size()));

  const bool read_before = GENERATE(false, true);
  if (read_before) CHECK((bytes_of(by_device.weights()) == bytes_of(by_cpu.weights())));
  by_device.set_counters(0, 0);
  by_device.upload_to(device);
  CHECK((residents_of(placed, device.memory()) == residents_of(placed, arena.data())));
  if (on_host)
    for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
      if (const program::Buffer& buffer = placed.program.buffers[b];
          buffer.resident && buffer.space == program::Space::host)
        CHECK(std::equal(host.data() + placed.placement.base[b],
                         host.data() + placed.placement.base[b] + buffer.bytes(),
                         own_host.data() + placed.placement.base[b]));
  CHECK((device.constants > 0) == (adapter && !read_before));

  // what is stored replaces what was drawn, and frozen weights go to the device at once
  by_device.copy_weights(by_cpu.weights());
  by_device.upload_to(device);
  CHECK((device.groups_kept > 0) == adapter);
  CHECK((residents_of(placed, device.memory()) == residents_of(placed, arena.data())));
  CHECK((bytes_of(by_device.weights()) == bytes_of(by_cpu.weights())));
}

}  // namespace

TEST_CASE("weights that the device draws are those of the CPU, wherever they lie") {
  const SmallOptions options = GENERATE(
      SmallOptions{}, SmallOptions{.precision = "bf16"},
      SmallOptions{.precision = "{compute: bf16, master: fp32}"}, SmallOptions{.precision = "fp16"},
      SmallOptions{.precision = "bf16", .optimizer = "{type: adamw, lr: 1e-2, ema_decay: 0.9}"},
      SmallOptions{.precision = "bf16", .memory = "optimizer_offload: cpu"},
      SmallOptions{.precision = "bf16", .memory = "parameter_offload: cpu"});
  INFO("precision " << options.precision << ", memory " << options.memory);
  check(small_plan(options), false);
}

TEST_CASE("frozen weights beside an adapter are the device's alone until they are read") {
  const std::string precision = GENERATE("fp32", "bf16");
  check(adapter_plan(precision), true);
}

}  // namespace trainx::train::drawn_weights_test
