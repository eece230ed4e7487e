// The resident buffers of a placed program by meaning: exact weights, optimizer states, step
// counters, learning rates. Where they lie in shards, one is here and the others are on the other
// ranks of its group.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include "model/model.hpp"
#include "plan/run_plan.hpp"
#include "execute/arena.hpp"
#include "execute/device.hpp"
#include "state/disk_window.hpp"
#include "execute/ranks.hpp"
#include <cstdint>
#include <optional>
#include <set>

namespace trainx::state {

class NamedTensors;

/// Where resident buffers lie: those of the device's space, or a copy of them, those that programs
/// keep on the host, and those on a disk (null: they keep none there, or nothing is trained and
/// what blocks compute with is all that is loaded).
struct ResidentMemory {
  std::byte* base = nullptr;
  std::byte* host = nullptr;
  disk::Disk* disk = nullptr;
  // of which `base` is residents(); null: there is none, or nothing is drawn
  execute::Device* device = nullptr;
  // NOLINT(google-explicit-constructor): most have one arena
  ResidentMemory(const execute::Arena& arena, std::byte* on_host = nullptr,
                 disk::Disk* on_disk = nullptr)
      : base(arena.data()), host(on_host), disk(on_disk) {}
  /// All that the device has.
  explicit ResidentMemory(execute::Device& of)
      : ResidentMemory(of.residents(), of.host(), of.disk()) {
    device = &of;
  }
};

class ResidentState {
 public:
  /// `states`: what the optimizer keeps; not known where nothing is trained. `ranks`: among whom
  /// shards are.
  ResidentState(const plan::PlacedProgram& placed, const ResidentMemory& memory,
                const std::vector<program::StateSpec>& states = {}, execute::Ranks ranks = {});

  enum class Memory : std::uint8_t { written, new_arena };
  /// Initial weights; states as they begin; counters zero. In a new arena what begins as zero is
  /// zero already: its memory is not touched. Weights that are drawn from a seed are drawn by the
  /// device, if it draws any; the copy in ResidentMemory::base then stays as it is until they are
  /// read here.
  void initialize(const model::WeightInitializer& weights, Memory memory = Memory::written);
  /// The same with weights drawn from the seed as the groups say.
  void initialize(std::uint64_t seed);
  /// `keeps`: all that draws and loads weights leaves the frozen ones in these pages of the space
  /// as they are, e.g. because another rank fills them.
  void keep_frozen(program::Space space, const std::vector<program::Range>& pages, bool keeps);
  /// Whether all ranks must call what draws and loads weights, because it gathers shards.
  bool gathers_to_load() const { return sharded_ || staged_; }
  /// Returns where they lie.
  std::span<const double> set_learning_rates(const std::vector<double>& table);
  void set_counters(std::int64_t step, std::int64_t applied_steps);
  std::int64_t applied_steps() const;
  /// As kernels::advance_loss_scale has them; nothing where losses are not scaled.
  void set_loss_scale(double scale, double finite_steps);
  /// Of delayed scaling in fp8; empty: no step has been yet. Nothing where scales are not delayed.
  void set_fp8_ranges(const std::vector<double>& ranges);
  std::size_t fp8_ranges() const { return fp8_ranges_.size(); }
  /// Device::upload without what the device has already: states that are zero, weights that it
  /// has. What training changes has to be downloaded before it is read here again.
  void upload_to(execute::Device& device);

  /// Reads all weights of a Hugging Face folder (f32, bf16 or f16; one file or shards); of an
  /// adapter's folder those of its model, to which it is added in fp32. A missing,
  /// extra or misshapen tensor throws UserError 65 that names it. With shards all ranks call it.
  void load_weights(const std::string& folder, const architectures::ModelDims& dims);
  /// The same of a folder that a run starts from. A head that it was made without stays as it is;
  /// the names of its parameters are returned. Tokens that its vocabulary lacks get rows that are
  /// drawn from the seed (new_tokens.hpp).
  std::vector<std::string> start_from(const std::string& folder,
                                      const architectures::ModelDims& dims, std::uint64_t seed);
  /// Reads the tensors of an adapter's folder, among them weights of the model itself that its file
  /// has; what else the model has stays. The same errors.
  void load_adapter(const std::string& folder, const plan::AdapterPlan& adapter);
  /// Weight `to` becomes what `from` is, which has its shape.
  void begin_as(const std::string& to, const std::string& from);
  /// Rows that an adapter trains begin as those in whose place they stand.
  void begin_token_rows(const std::vector<plan::AdapterPlan::Replaced>& all);
  /// The same from another state's weights(), of the same model.
  void copy_weights(const std::vector<checkpoint::TensorSource>& from);
  /// Reads the optimizer states of a checkpoint's folder; the same errors.
  void load_states(const std::string& folder);
  /// To be called when all is loaded: what lies on the disk has to be there.
  void store();
  /// What a checkpoint holds: exact fp32 weights and the states, both under the parameters' names.
  /// Weights and floating states with an entry for each element have the folder's layout, other
  /// states their own. The same tensors however they lie in shards and over stages, which all ranks
  /// gather (TensorSource::prepare).
  std::vector<checkpoint::TensorSource> weights() const;
  /// Of the weights' bytes as they lie; of groups that lie in shards, of all that were loaded last;
  /// where the device drew them, of what they follow from.
  std::string weights_hash() const;
  std::vector<checkpoint::TensorSource> states() const;

 private:
  /// Of a start_from: what draws the rows of tokens beyond those of the folder.
  struct Beginning {
    std::uint64_t seed;
    std::int64_t tokens;
    std::vector<float> take(NamedTensors& saved, const program::ParameterSpec& p) const;
  };
  std::vector<std::string> read_weights(const std::string& folder,
                                        const architectures::ModelDims& dims,
                                        std::optional<Beginning> begins);
  /// Of a buffer, in memory or on the disk.
  struct Place {
    std::byte* memory = nullptr;
    std::int64_t on_disk = program::none;
    std::size_t bytes = 0;
    bool of_weights = false;  // those that blocks compute with
    bool in_base = false;
    int elsewhere = program::none;  // of another stage: which of PlacedProgram::elsewhere
    auto operator<=>(const Place&) const = default;
  };
  struct State {
    program::StateSpec spec;
    // of each shard; of the whole group where each rank has all of it
    std::vector<program::StateLayout> layouts;
    bool in_shards = false;
    Place place;
    std::int64_t entries = 0;  // of the buffer: a shard's, as many as the largest has
    bool on_host = false;
  };
  struct Group {
    const program::GroupSpec* spec = nullptr;
    int stage = program::none;              // of a pipeline: the first that keeps it
    bool is_here = true;                    // this rank keeps it; else another stage's
    std::vector<program::GroupSpec> whole;  // the group alone
    program::Layout layout;
    // by place of the ranks that differ along the layout; the whole group where nobody does
    std::vector<program::GroupSpec> shards;
    // of exact weights where they lie in shards, of what they follow from where the device drew
    // them, of the parameter where it was left on the device
    std::string loaded_hash;
    Place parameter;
    std::byte* on_host = nullptr;  // the same, where updates are made on the host
    bool is_kept = false;          // neither drawn nor loaded (keep_frozen)
    // of no bytes: the parameter is exact, or the program does not train
    Place master;
    program::Master master_kind = program::Master::absent;
    std::vector<State> states;
  };
  /// Has the device draw the group's weights from the seed; false: it draws none of this group.
  bool draw(Group& group, std::uint64_t seed);
  /// Moves what was stored to the device, where leaves_frozen_ says so.
  void leave_on_device(Group& group);
  bool is_left(const Group& group) const {
    return leaves_frozen_ && !group.spec->training.trained && group.parameter.in_base;
  }
  /// The place's memory, to which what the device alone had there has been downloaded.
  std::byte* fetch(const Place& place) const;
  void begin(const State& state);
  /// Throws InternalError if there is no parameter of the name.
  std::pair<Group&, const program::ParameterSpec&> find(const std::string& name);
  /// A parameter's values in the form that files have.
  std::vector<float> saved_values(const std::string& name);
  void replace(const std::string& name, const std::vector<float>& with);
  void store_exact(Group& group, std::span<const float> exact);
  void store_rounded(Group& group, std::span<const float> exact);  // with the master
  /// In `memory`, which grows to it.
  std::span<const float> exact(const Group& group, const program::ParameterSpec& parameter,
                               std::vector<float>& memory) const;
  void store_entries(const Group& group, const State& state, std::size_t parameter,
                     std::span<const std::byte> entries);
  void load_entries(const Group& group, const State& state, std::size_t parameter,
                    NamedTensors& saved);
  void load_bytes(const Group& group, const State& codes, const State& scales,
                  std::size_t parameter, NamedTensors& saved);
  std::span<const std::byte> entries_of(const Group& group, const State& state,
                                        std::size_t parameter,
                                        std::vector<std::byte>& memory) const;
  const std::vector<program::GroupSpec>& shards_of(const Group& group, const State& state) const;
  std::vector<Place> exact_parts(const Group& group) const;
  /// What a buffer of a group is to it.
  void take_resident(const program::Buffer& buffer, const Place& place,
                     const std::vector<program::StateSpec>& states);
  void gather(const Group& group, const std::vector<Place>& wanted, bool in_shards = true) const;
  const std::byte* whole(const Group& group, const Place& mine) const;
  std::span<const float> exact_elements(const Group& group, std::int64_t first,
                                        std::span<float> out) const;
  const std::byte* read(const Place& place) const {
    return place.memory ? fetch(place) : window_of(place).view(place.on_disk, place.bytes);
  }
  std::byte* edit(const Place& place, bool anew = false) {
    if (!place.memory) return window_of(place).edit(place.on_disk, place.bytes, anew);
    if (anew) on_device_.erase(place);
    return fetch(place);
  }
  DiskWindow& window_of(const Place& place) const {
    return place.of_weights ? weights_window_ : window_;
  }
  void forget_windows() const;
  /// Which of the group's shards is here.
  std::size_t own(const Group& group) const {
    return static_cast<std::size_t>(
        placed_.program.mesh.place(group.layout.along(), ranks_.rank()));
  }

  const plan::PlacedProgram& placed_;
  execute::Device* device_;  // null: new weights are drawn on the CPU, to where they lie
  execute::Ranks ranks_;
  bool sharded_ = false;  // any group is
  bool staged_ = false;   // stages keep different groups
  // by one's own shard: what gather made
  mutable std::map<Place, std::vector<std::byte>> gathered_;
  // in the host's memory behind its residents, where steps have what they read ahead: between steps
  // nothing there is alive
  mutable DiskWindow window_;
  std::optional<execute::Arena> weights_memory_;
  // a second one: exact weights may follow from weights and what is beside them, both on the disk
  mutable DiskWindow weights_window_;
  bool states_written_ = false;
  // places of which the device alone has the values
  mutable std::set<Place> on_device_;
  // Frozen weights beside an adapter: each is on the device alone from when it is stored or drawn
  // until it is read here, so that the host need not hold them all.
  bool leaves_frozen_ = false;
  std::vector<Group> groups_;
  std::int64_t* step_ = nullptr;
  std::int64_t* applied_ = nullptr;
  std::span<double> fp8_ranges_;
  double* loss_scale_ = nullptr;  // [2]; null: losses are not scaled
  std::span<double> lr_table_;
};

}  // namespace trainx::state
