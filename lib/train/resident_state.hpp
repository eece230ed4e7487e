// The resident buffers of a placed program by meaning: exact weights, optimizer states, step counters, learning rates.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include "model/model.hpp"
#include "plan/run_plan.hpp"
#include "train/arena.hpp"

namespace trainx::train {

enum class MissingHead : std::uint8_t { refuse, keep };

class ResidentState {
 public:
  /// `states`: what the optimizer keeps; not known where nothing is trained.
  ResidentState(const plan::PlacedProgram& placed, Arena& arena, const std::vector<program::StateSpec>& states = {});

  enum class Memory : std::uint8_t { written, new_arena };
  /// Initial weights; states as they begin; counters zero. In a new arena what begins as zero is zero already: its memory is not touched.
  void initialize(const model::WeightInitializer& fill, Memory memory = Memory::written);
  /// The same with weights drawn from the seed as the groups say.
  void initialize(std::uint64_t seed);
  void set_learning_rates(const std::vector<double>& table);
  void set_counters(std::int64_t step, std::int64_t applied_steps);
  std::int64_t applied_steps() const;
  /// As kernels::advance_loss_scale has them; nothing where losses are not scaled.
  void set_loss_scale(double scale, double finite_steps);
  /// What of the arena nothing was written to: states, until they are loaded.
  std::vector<std::span<const std::byte>> untouched() const;

  /// Reads all weights of a Hugging Face folder (f32, bf16 or f16; one file or shards). A missing, extra or misshapen tensor throws UserError 65 that names it.
  /// MissingHead::keep: a head that the folder was made without stays as it is; the names of its parameters are returned.
  std::vector<std::string> load_weights(const std::string& folder, const spec::ModelDims& dims, MissingHead missing_head = MissingHead::refuse);
  /// Reads the optimizer states of an optimizer.safetensors; the same errors.
  void load_states(const std::string& path);
  /// What a checkpoint holds: exact fp32 weights and the states, both under the parameters' names. Weights and floating states with an entry for each
  /// element have the folder's layout, other states their own.
  std::vector<checkpoint::TensorSource> weights() const;
  /// Of the weights' bytes as they lie.
  std::string weights_hash() const;
  std::vector<checkpoint::TensorSource> states() const;

 private:
  struct State {
    program::StateSpec spec;
    program::StateLayout layout;
    std::byte* data = nullptr;
    std::span<std::byte> bytes() const { return {data, static_cast<std::size_t>(layout.entries * size_of(spec.dtype))}; }
  };
  struct Group {
    const program::GroupSpec* spec = nullptr;
    std::byte* parameter = nullptr;
    std::byte* master = nullptr;        // null: the parameter is exact, or the program does not train
    program::Master master_kind = program::Master::none;
    std::vector<State> states;
  };
  void begin(const State& state);
  void store_exact(Group& group, std::span<const float> exact);
  std::vector<float> exact(const Group& group, const program::ParameterSpec& parameter) const;

  const plan::PlacedProgram& placed_;
  bool states_written_ = false;
  std::vector<Group> groups_;
  std::int64_t* step_ = nullptr;
  std::int64_t* applied_ = nullptr;
  double* loss_scale_ = nullptr;        // [2]; null: losses are not scaled
  std::span<double> lr_table_;
};

}  // namespace trainx::train
