// A small real GPT-2 run in memory: plan, arena, blocks, optimizer; no files.
#pragma once
#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "train/build.hpp"
#include "execute/cpu_executor.hpp"
#include <cstdint>
#include <cstring>

/// c10 prints vectors of whatever has an operator<<, which bytes have not.
template <>
struct Catch::StringMaker<std::vector<std::byte>> {
  static std::string convert(const std::vector<std::byte>& bytes) {
    return std::to_string(bytes.size()) + " bytes";
  }
};

namespace trainx::train {

struct SmallOptions {
  int layers = 2, micro_batch_size = 2, global_batch_size = 4;
  double dropout = 0;
  // memory: more of its keys
  std::string precision = "fp32", activation_checkpoint = "none",
              optimizer = "{type: adamw, lr: 1e-2}", memory;
};

/// Of a machine with two cores, and of the stories that the recipes of these tests have (samples:
/// 64, eval_samples: 7).
inline facts::Facts small_facts() {
  facts::Facts facts;
  facts.hardware.cpu_cores = 2;
  facts.hardware.memory_bytes = std::int64_t{8} << 30;
  facts.data.train_present = facts.data.eval_present = true;
  facts.data.train_samples = 64;
  facts.data.eval_samples = 7;
  return facts;
}

inline plan::RunPlan small_plan(const SmallOptions& o) {
  const std::string text =
      "run: {name: small, seed: 5, duration: 10 steps}\nmodel: {type: gpt2, options: "
      "{num_layers: " +
      std::to_string(o.layers) +
      ", num_heads: 2, hidden_size: 16, max_positions: 12, vocab_size: 500, dropout: " +
      std::to_string(o.dropout) +
      "}}\ndata: {type: stories, sequence_length: 12, samples: 64, eval_samples: 7}\nbatch: "
      "{global_batch_size: " +
      std::to_string(o.global_batch_size) +
      ", micro_batch_size: " + std::to_string(o.micro_batch_size) + "}\nprecision: " + o.precision +
      "\noptimizer: " + o.optimizer +
      "\nmemory: {activation_checkpoint: " + o.activation_checkpoint +
      (o.memory.empty() ? "" : ", " + o.memory) + "}\n";
  return plan::make_run_plan(recipe::parse_recipe(text, "small").recipe, small_facts());
}

/// Runs `steps` steps of `placed` (the plan's training program or a variation of it) and returns
/// the bytes of all resident buffers.
struct SmallRun {
  explicit SmallRun(const plan::RunPlan& p, const plan::PlacedProgram* variation = nullptr,
                    std::int64_t spare_bytes = 0)
      : plan(p),
        programs{variation ? *variation : p.role().train[0]},
        placed(programs[0]),
        arena(placed.placement.peak_of(program::Space::device) + spare_bytes),
        host(std::max<std::int64_t>(1, placed.placement.peak_of(program::Space::host))),
        disk(disk_for(placed)),
        resident(placed, {arena, host.data(), disk.get()}, p.update.states),
        blocks(build_blocks(p.dims, programs)),
        optimizer(optim::make_optimizer(p.recipe.optimizer.options)),
        source(open_split(p, data::Split::train)) {
    // NaN in every floating type
    std::memset(arena.data(), 0xFF, static_cast<std::size_t>(arena.bytes()));
    std::memset(host.data(), 0xFF, static_cast<std::size_t>(host.bytes()));
    resident.initialize(5);
    resident.set_counters(0, 0);
    resident.set_learning_rates(p.lr_table);
  }

  std::vector<std::byte> run(int steps, execute::ExecutorHooks hooks = {}) {
    execute::ExecutorParts parts;
    parts.blocks = &blocks;
    parts.optimizer = optimizer.get();
    parts.fetch = [&](std::int64_t step, int micro, int, data::BatchView out) {
      const auto length = static_cast<std::size_t>(plan.recipe.data.sequence_length);
      for (std::size_t b = 0; b < out.positions.size(); ++b) {
        out.positions[b] = step * plan.batch.global_batch_size +
                           micro * static_cast<std::int64_t>(out.positions.size()) +
                           static_cast<std::int64_t>(b);
        source->read(
            out.positions[b] % source->samples(),
            {out.tokens.subspan(b * length, length), out.targets.subspan(b * length, length)});
      }
    };
    parts.report = [&](const execute::StepScalarsReport& r) { reports.push_back(r); };
    parts.seed = 5;
    parts.nominal_targets = plan.nominal_targets;
    parts.max_grad_norm = plan.recipe.optimizer.max_grad_norm;
    execute::CpuExecutor executor(programs, arena, std::move(parts), std::move(hooks), &host,
                                  disk.get());
    for (int s = 0; s < steps; ++s) executor.submit_step();
    executor.wait_idle();
    std::vector<std::byte> out;
    for (std::size_t b = 0; b < placed.program.buffers.size(); ++b) {
      const auto& buffer = placed.program.buffers[b];
      // what updates on the host have a copy of
      if (!buffer.resident || buffer.name.ends_with('\'')) continue;
      if (buffer.space == program::Space::disk) {
        execute::Arena seen(buffer.bytes());
        disk->read(placed.placement.base[b], seen.data(), buffer.bytes());
        out.insert(out.end(), seen.data(), seen.data() + buffer.bytes());
        continue;
      }
      const std::byte* at = (buffer.space == program::Space::host ? host : arena).data() +
                            placed.placement.base[b];
      out.insert(out.end(), at, at + buffer.bytes());
    }
    return out;
  }

  /// Null where the program has nothing there.
  static std::unique_ptr<disk::Disk> disk_for(const plan::PlacedProgram& placed) {
    const std::int64_t bytes = placed.placement.peak_of(program::Space::disk);
    // the file outlives its folder
    return bytes > 0 ? std::make_unique<disk::Disk>(TemporaryFolder().path(), bytes) : nullptr;
  }

  const plan::RunPlan plan;  // its own: tests hand over temporaries
  std::vector<plan::PlacedProgram> programs;
  const plan::PlacedProgram& placed;
  execute::Arena arena, host;
  std::unique_ptr<disk::Disk> disk;
  state::ResidentState resident;
  std::vector<model::Blocks> blocks;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<const data::Source> source;
  std::vector<execute::StepScalarsReport> reports;
};

}  // namespace trainx::train
