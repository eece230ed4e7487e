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

/// Tensors that ranks with parts of layers cut by rows, columns or sections of rows.
program::GroupSpec layers_in_parts(int parts) {
  program::GroupSpec group{"g", {}, 0};
  const auto add = [&](const std::string& name, std::vector<std::int64_t> dims, int cut,
                       std::vector<std::int64_t> sections = {}, std::int64_t padding = 0) {
    program::ParameterSpec p{.name = name, .dims = std::move(dims), .offset = group.elements};
    p.decay = p.dims.size() > 1;
    p.saved_dims = p.dims;
    p.saved_dims.front() -= padding;
    p.cut_dimension = cut;
    p.sections = std::move(sections);
    group.elements += (p.elements() / program::group_alignment + 2) * program::group_alignment;
    group.parameters.push_back(std::move(p));
  };
  add("rows", {parts * 150, 260}, 0);
  add("columns", {300, parts * 129}, 1);
  add("vocabulary", {parts * 40, 33}, 0, {}, 11);
  add("qkv", {parts * 60, 31}, 0, {parts * 40, parts * 10, parts * 10});
  add("experts_in", {3, parts * 20, 30}, 1,
      {parts * 12, parts * 8, parts * 12, parts * 8, parts * 12, parts * 8});
  add("experts_bias", {3, parts * 20}, 1,
      {parts * 12, parts * 8, parts * 12, parts * 8, parts * 12, parts * 8});
  add("experts_rows", {3, parts * 20, 30}, 1);
  add("experts_out", {3, 30, parts * 20}, 2);
  add("bias", {parts * 60}, 0, {parts * 40, parts * 10, parts * 10});
  add("vocabulary_bias", {parts * 40}, 0, {}, 11);
  group.parts = {program::axes::tensor, parts};
  group.elements *= parts;  // each part has room for all of it
  return group;
}

/// What one rank has of a group, in fp32.
struct RankOfParts {
  program::GroupSpec spec;
  std::vector<float> gradient, weights;
  std::vector<StateMemory> states;
};

/// Ranks with parts of layers, each of which `shards` ranks share, and one that has all.
class PartsOfLayers {
 public:
  PartsOfLayers(const options::OptimizerOptions& options, int parts, int shards)
      : sums_(std::visit([](const auto& o) { return options::tensor_sums_of(o); }, options)),
        optimizer_(make_optimizer(options)) {
    mesh_ = program::Mesh(parts * shards, shards);
    mesh_.tensor = parts;
    whole_ = program::divisible(program::ModelGraph{{layers_in_parts(parts)}}, mesh_,
                                program::Unit::tensor)
                 .groups.front();
    const program::Layout layout = program::trained_layout(whole_, mesh_);
    const auto states = states_of(options);
    for (int r = 0; r < mesh_.world; ++r) {
      RankOfParts& rank = ranks_.emplace_back();
      rank.spec = program::local(whole_, layout, mesh_, r).spec;
      for (const auto& s : states) rank.states.emplace_back(s, s.dims ? whole_ : rank.spec);
      rank.weights.resize(static_cast<std::size_t>(rank.spec.elements));
      rank.gradient = rank.weights;
    }
    alone_.spec = whole_;
    for (const auto& s : states) alone_.states.emplace_back(s, whole_);
    alone_.weights.resize(static_cast<std::size_t>(whole_.elements));
    alone_.gradient = alone_.weights;
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.5f);
    for_each_real([&](std::size_t i) { alone_.weights[i] = normal(random); });
    scatter(alone_.weights, &RankOfParts::weights);
  }

  void step(unsigned number) {
    std::mt19937 random(100 + number);
    std::normal_distribution<float> normal(0, 0.1f);
    for_each_real([&](std::size_t i) { alone_.gradient[i] = normal(random); });
    scatter(alone_.gradient, &RankOfParts::gradient);
    StepScalars scalars;
    scalars.norm2 = squared_norm(whole_, alone_.gradient.data());
    scalars.applied_steps = number;
    scalars.lr = 1e-2;
    std::vector<std::vector<std::vector<double>>> sums(ranks_.size());  // by rank and round
    for (std::size_t round = 0; round < sums_.size(); ++round) {
      const auto entries =
          static_cast<std::size_t>(program::sums_layout(sums_[round], whole_).back());
      std::vector<double> total(entries);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        sums[r].emplace_back(entries, 7);  // what is not written shows
        optimizer_->measure(memory(ranks_[r], sums[r]), scalars, static_cast<int>(round));
        for (std::size_t i = 0; i < entries; ++i) total[i] += sums[r][round][i];
      }
      for (auto& of_rank : sums) of_rank[round] = total;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      optimizer_->update(memory(ranks_[r], sums[r]), scalars);
    std::vector<std::vector<double>> none;
    optimizer_->update(memory(alone_, none), scalars);
  }

  /// Of the weights; 1 where they are no numbers, or a rank has an element that another one has.
  double largest_difference() const {
    double most = 0;
    std::vector<int> had(alone_.weights.size());
    for_each_place([&](const RankOfParts& rank, std::size_t whole, std::size_t own) {
      const double d = std::abs(static_cast<double>(alone_.weights[whole]) -
                                static_cast<double>(rank.weights[own]));
      most = std::isnan(d) || had[whole]++ > 0 ? 1 : std::max(most, d);
    });
    return most;
  }
  bool states_of_tensors_are_alike() const {
    for (std::size_t s = 0; s < alone_.states.size(); ++s)
      for (const RankOfParts& rank : ranks_)
        if (alone_.states[s].spec.dims && !same_bits(ranks_[0].states[s], rank.states[s]))
          return false;
    return true;
  }

 private:
  GroupMemory memory(RankOfParts& rank, std::vector<std::vector<double>>& sums) const {
    GroupMemory m{&rank.spec,     0,          rank.gradient.data(),
                  DType::f32,     DType::f32, rank.weights.data(),
                  Master::absent, nullptr,    {}};
    for (StateMemory& state : rank.states) m.states.push_back(state.data());
    if (&rank == &alone_) return m;
    m.of_group = &whole_;
    for (std::vector<double>& round : sums) m.sums.push_back(round.data());
    m.sums.resize(sums_.size());
    return m;
  }
  /// use(element of the whole group) of all that is no padding.
  template <class Use>
  void for_each_real(const Use& use) const {
    for (const program::ParameterSpec& p : whole_.parameters)
      for (std::int64_t i = 0; i < p.tensor_elements(); ++i)
        use(static_cast<std::size_t>(p.offset + i));
  }
  template <class Use>
  void for_each_place(const Use& use) const {
    for (const RankOfParts& rank : ranks_)
      for (const program::ParameterSpec& p : rank.spec.parameters) {
        const auto of = std::ranges::find(whole_.parameters, p.name, &program::ParameterSpec::name);
        p.slice.for_each_run(p.elements(),
                             [&](std::int64_t from, std::int64_t to, std::int64_t count) {
                               for (std::int64_t k = 0; k < count; ++k)
                                 use(rank, static_cast<std::size_t>(of->offset + from + k),
                                     static_cast<std::size_t>(p.offset + to + k));
                             });
      }
  }
  void scatter(const std::vector<float>& whole, std::vector<float> RankOfParts::*to) {
    for_each_place([&](const RankOfParts& rank, std::size_t from, std::size_t own) {
      (const_cast<RankOfParts&>(rank).*to)[own] = whole[from];
    });
  }

  std::vector<program::TensorSums> sums_;
  std::unique_ptr<Optimizer> optimizer_;
  program::Mesh mesh_;
  program::GroupSpec whole_;
  std::vector<RankOfParts> ranks_;
  RankOfParts alone_;
};

}  // namespace

TEST_CASE("parts of layers, with the sums of all ranks, are updated as whole tensors are") {
  options::AdafactorOptions plain, momentum, fixed;
  momentum.beta1 = 0.9;
  momentum.weight_decay = 0.1;
  fixed.relative_step = fixed.scale_parameter = false;
  fixed.clip_threshold = 0.5;
  for (const options::OptimizerOptions& options :
       {options::OptimizerOptions(options::LambOptions{}), options::OptimizerOptions(plain),
        options::OptimizerOptions(momentum), options::OptimizerOptions(fixed)})
    for (const int parts : {2, 3})
      for (const int shards : {1, 2, 5}) {
        CAPTURE(options.index(), parts, shards);
        PartsOfLayers layers(options, parts, shards);
        for (unsigned step = 0; step < 3; ++step) layers.step(step);
        CHECK(layers.largest_difference() < 2e-6);
        CHECK(layers.states_of_tensors_are_alike());
      }
}

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
