// On a CPU: a thread for each lane of the program.
#pragma once
#include "disk/disk.hpp"
#include "program/lanes.hpp"
#include "execute/arena.hpp"
#include "execute/executor.hpp"
#include "execute/placed_memory.hpp"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace trainx::execute {

class CpuExecutor final : public Executor {
 public:
  /// `programs`: one for each length of the batch's rows, over one arena with residents at the same
  /// addresses. `host`, `disk`: where their buffers on the host and on a disk are, null where they
  /// have none.
  CpuExecutor(const std::vector<plan::PlacedProgram>& programs, Arena& arena, ExecutorParts parts,
              ExecutorHooks hooks = {}, Arena* host = nullptr, disk::Disk* disk = nullptr);

  void prepare_weights() override { lanes_->run_once(); }
  void submit_step() override;
  void wait_for_step(std::int64_t n) override { lanes_->wait_for_round(n); }
  void wait_idle() override { lanes_->wait_idle(); }
  void time_next(std::int64_t steps, OnTimes on_times) override;
  std::vector<std::int64_t> operand_bytes() const override;
  /// Where the buffer of that name lies in the first program, e.g. predict's "logits".
  /// InternalError if there is none.
  const std::byte* output(const std::string& name) const;

 private:
  /// One of the programs with what it computes on.
  struct Shape {
    const plan::PlacedProgram* placed = nullptr;
    const model::Blocks* blocks = nullptr;
    std::optional<PlacedMemory> memory;
    std::vector<program::LocalGroup> groups;
    std::array<BlockContexts, program::lane_count> contexts;  // by lane: each touches its own
  };
  void execute(Shape& s, const program::Instruction& i);
  void execute_timed(Shape& s, const program::Instruction& i);
  void fetch_batch(const Shape& s, const program::Instruction& i);
  void compute(Shape& s, const program::Instruction& i);
  void grad_norm(const Shape& s, const program::Instruction& i);
  void update(const Shape& s, const program::Instruction& i);
  void balance(const Shape& s, const program::Instruction& i);
  void report(const Shape& s, const program::Instruction& i);
  void copy(const Shape& s, const program::Instruction& i);
  void communicate(const Shape& s, const program::Instruction& i);

  Arena& arena_;
  disk::Disk* disk_;
  ExecutorParts parts_;
  std::vector<Shape> shapes_;
  std::int64_t submitted_ = 0;
  std::int64_t to_time_ = 0;
  OnTimes on_times_;
  std::atomic<bool> timing_ = false;
  std::chrono::steady_clock::time_point timed_since_;
  std::mutex times_mutex_;
  StepTimes times_;                             // of the step that is timed
  std::unique_ptr<program::LaneRunner> lanes_;  // last: its threads use all the above
};

}  // namespace trainx::execute
