#include "formula.hpp"
#include "program/shards.hpp"
#include "support/catch.hpp"
#include <tuple>

namespace parts_of_tensors_test {

using namespace trainx;
using namespace trainx::optim;
using program::Master;

namespace {

/// A group's memory in shards, each with states of its own, stepped as ranks step them; and the
/// same as a whole.
class Shards {
 public:
  Shards(const options::OptimizerOptions& options, program::GroupSpec group, int count, DType dtype,
         Master master)
      : states_(states_of(options)),
        sums_(std::visit([](const auto& o) { return options::tensor_sums_of(o); }, options)),
        optimizer_(make_optimizer(options)),
        count_(count),
        whole_(program::divisible(program::ModelGraph{{std::move(group)}}, {count, count},
                                  program::Unit::tensor)
                   .groups.front()),
        in_shards_(whole_, states_, dtype, master, 31),
        as_whole_(whole_, states_, dtype, master, 31) {
    for (int r = 0; r < count; ++r) {
      shards_.push_back(program::shard_of(whole_, r, count));
      auto& of_shard = kept_.emplace_back();
      for (const program::StateSpec& s : states_)
        of_shard.emplace_back(s, s.dims ? whole_ : shards_.back());
    }
  }

  void step(unsigned seed) {
    in_shards_.new_gradient(seed);
    as_whole_.new_gradient(seed);
    const StepScalars scalars = scalars_of(as_whole_, seed);
    std::vector<std::vector<std::vector<double>>> sums(sums_.size());  // by round and shard
    for (std::size_t round = 0; round < sums_.size(); ++round) {
      const auto entries =
          static_cast<std::size_t>(program::sums_layout(sums_[round], whole_).back());
      // what is not written shows
      sums[round].assign(static_cast<std::size_t>(count_), std::vector<double>(entries, 7));
      for (int r = 0; r < count_; ++r)
        optimizer_->measure(memory(r, sums), scalars, static_cast<int>(round));
      std::vector<double> total(entries);
      for (const auto& of_shard : sums[round])
        for (std::size_t i = 0; i < entries; ++i) total[i] += of_shard[i];
      for (auto& of_shard : sums[round]) of_shard = total;
    }
    for (int r = 0; r < count_; ++r) optimizer_->update(memory(r, sums), scalars);
    optimizer_->update(as_whole_.memory(), scalars);
  }

  double largest_difference() const {
    const std::vector<float> a = in_shards_.weights(), b = as_whole_.weights();
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (as_whole_.used[i])
        most = std::max(
            most,
            std::isnan(a[i]) ? 1 : std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    return most;
  }
  bool states_of_tensors_are_alike() const {
    for (std::size_t s = 0; s < states_.size(); ++s)
      for (int r = 1; r < count_ && states_[s].dims; ++r)
        if (!same_bits(kept_[0][s], kept_[static_cast<std::size_t>(r)][s])) return false;
    return true;
  }
  bool gaps_untouched() const { return in_shards_.gaps_untouched(); }

 private:
  GroupMemory memory(int r, std::vector<std::vector<std::vector<double>>>& sums) {
    GroupMemory m = in_shards_.memory();
    const std::int64_t first = r * shards_[static_cast<std::size_t>(r)].elements,
                       width = m.parameter_dtype == DType::f32 ? 4 : 2;
    m.group = &shards_[static_cast<std::size_t>(r)];
    m.of_group = &whole_;
    m.first = first;
    m.gradient = static_cast<const float*>(m.gradient) + first;
    m.parameter = static_cast<std::byte*>(m.parameter) + first * width;
    if (m.master)
      m.master = static_cast<std::byte*>(m.master) +
                 first * (m.master_kind == Master::fp32 ? 4 : 2);
    m.states.clear();
    for (StateMemory& state : kept_[static_cast<std::size_t>(r)]) m.states.push_back(state.data());
    for (auto& round : sums)
      m.sums.push_back(round.empty() ? nullptr : round[static_cast<std::size_t>(r)].data());
    return m;
  }

  std::vector<program::StateSpec> states_;
  std::vector<program::TensorSums> sums_;
  std::unique_ptr<Optimizer> optimizer_;
  int count_;
  program::GroupSpec whole_;
  GroupFixture in_shards_, as_whole_;
  std::vector<program::GroupSpec> shards_;
  std::vector<std::vector<StateMemory>> kept_;  // by shard and state
};

}  // namespace

TEST_CASE("parts of tensors, with the sums of all parts, are updated as whole tensors are") {
  options::AdafactorOptions plain, momentum, fixed;
  momentum.beta1 = 0.9;
  momentum.weight_decay = 0.1;
  fixed.relative_step = fixed.scale_parameter = false;
  fixed.clip_threshold = 0.5;
  for (const options::OptimizerOptions& options :
       {options::OptimizerOptions(options::LambOptions{}), options::OptimizerOptions(plain),
        options::OptimizerOptions(momentum), options::OptimizerOptions(fixed)})
    for (const auto& [rows, columns, padding] :
         {std::tuple{1, 1, 0}, std::tuple{64, 64, 0}, std::tuple{300, 141, 0},
          std::tuple{77, 301, 5}, std::tuple{1, 900, 0}})
      for (const int count : {1, 2, 3, 8})
        for (const auto& [dtype, master] :
             {std::pair{DType::f32, Master::absent}, std::pair{DType::bf16, Master::split}}) {
          CAPTURE(options.index(), rows, columns, count, static_cast<int>(dtype));
          Shards shards(options, matrix_group(rows, columns, padding), count, dtype, master);
          for (unsigned step = 0; step < 6; ++step) shards.step(step);
          CHECK(shards.largest_difference() < 2e-6);
          CHECK(shards.states_of_tensors_are_alike());
          CHECK(shards.gaps_untouched());
        }
}

}  // namespace parts_of_tensors_test
