#include "program/shards.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <map>
#include <random>

namespace shards_test {

using namespace trainx;
using namespace trainx::program;

namespace {

/// Tensors of any sizes, some of which go on where the one before ends.
ModelGraph random_graph(std::mt19937& random) {
  ModelGraph graph;
  for (int g = 0; g < 3; ++g) {
    GroupSpec group{"g" + std::to_string(g)};
    std::int64_t end = 0;
    for (int t = 0, tensors = 1 + static_cast<int>(random() % 6); t < tensors; ++t) {
      const bool continues = t > 0 && random() % 4 == 0;
      ParameterSpec p{group.name + "." + std::to_string(t),
                      {static_cast<std::int64_t>(1 + random() % (random() % 3 ? 900 : 40'000))}};
      p.offset = continues ? end : (end + group_alignment - 1) / group_alignment * group_alignment;
      p.decay = random() % 2;
      end = p.offset + p.elements();
      group.parameters.push_back(p);
    }
    group.elements = (end + group_alignment - 1) / group_alignment * group_alignment;
    graph.groups.push_back(group);
  }
  BlockSpec block{"b"};
  block.slots.push_back({"w", Role::parameter, 1, {"", DType::f32, {graph.groups[1].elements}}});
  graph.blocks.push_back(block);
  return graph;
}

}  // namespace

TEST_CASE(
    "shards are equal, hold each element of each tensor once, and end on the optimizer's units") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const ModelGraph graph = random_graph(random);
    const int world = 1 + static_cast<int>(random() % 9);
    for (const Unit unit : {Unit::element, Unit::block, Unit::tensor}) {
      CAPTURE(round, world, static_cast<int>(unit));
      const ModelGraph cut = divisible(graph, {world, world}, unit);
      CHECK(cut.blocks[0].slots[0].tensor.dims.at(0) == cut.groups[1].elements);
      for (std::size_t g = 0; g < graph.groups.size(); ++g) {
        const GroupSpec &before = graph.groups[g], &group = cut.groups[g];
        REQUIRE(group.elements % world == 0);
        const std::int64_t size = group.elements / world;
        CHECK(size % group_alignment == 0);
        for (std::size_t t = 0; t < group.parameters.size(); ++t) {
          const ParameterSpec& p = group.parameters[t];
          CHECK(p.offset + p.elements() <= group.elements);
          if (t > 0) {
            const bool continues = before.parameters[t].offset ==
                                   before.parameters[t - 1].offset +
                                       before.parameters[t - 1].elements();
            const std::int64_t end = group.parameters[t - 1].offset +
                                     group.parameters[t - 1].elements();
            CHECK((continues ? p.offset == end : p.offset >= end));
          }
          std::int64_t next = 0;  // element of the tensor
          for (int r = 0; r < world; ++r) {
            const GroupSpec shard = shard_of(group, r, world);
            CHECK(shard.elements == size);
            for (const ParameterSpec& part : shard.parameters) {
              if (part.name != p.name) continue;
              CHECK(part.slice.first == next);
              CHECK(r * size + part.offset == p.offset + part.slice.first);
              CHECK(part.offset + part.elements() <= size);
              CHECK(part.decay == p.decay);
              CHECK(part.tensor_elements() == p.tensor_elements());
              if (unit == Unit::block) CHECK(part.slice.first % state_block == 0);
              next += part.elements();
            }
          }
          CHECK(next == p.elements());
        }
        // Padding is little: less than a few units for each rank, where blocks are no obstacle.
        if (unit != Unit::block) CHECK(group.elements - before.elements < world * group_alignment);
      }
    }
  }
}

namespace {

/// Where along the dimension that is cut an element of the tensor lies.
std::int64_t place_in(const ParameterSpec& p, std::int64_t element) {
  for (std::size_t d = p.dims.size() - 1; d > static_cast<std::size_t>(p.cut_dimension); --d)
    element /= p.dims[d];
  return element % p.dims[static_cast<std::size_t>(p.cut_dimension)];
}
std::int64_t own_size(const ParameterSpec& p, int parts) {
  return p.dims[static_cast<std::size_t>(p.cut_dimension)] / parts;
}

}  // namespace

TEST_CASE("parts along any dimension, and their shards, have each element of a tensor once") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const int parts = 2 + static_cast<int>(random() % 3),
              shards = 1 + static_cast<int>(random() % 4);
    GroupSpec group{"g", {}, 0};
    std::int64_t end = 0;
    for (int t = 0; t < 5; ++t) {
      ParameterSpec p{"t" + std::to_string(t)};
      const int dimensions = 1 + static_cast<int>(random() % 3);
      p.cut_dimension = static_cast<int>(random() % static_cast<unsigned>(dimensions));
      for (int d = 0; d < dimensions; ++d)
        p.dims.push_back(parts * (1 + static_cast<int>(random() % 5)));
      if (p.cut_dimension + 1 < dimensions && random() % 2 == 0) {  // of which each is cut
        std::int64_t& of_dims = p.dims[static_cast<std::size_t>(p.cut_dimension)];
        of_dims = 0;
        for (int k = 0; k < 3; ++k) {
          p.sections.push_back(parts * (1 + static_cast<int>(random() % 4)));
          of_dims += p.sections.back();
        }
        const std::vector<std::int64_t> of_one = p.sections;
        for (std::int64_t k = 1; p.cut_dimension == 1 && k < p.dims.front(); ++k)
          p.sections.insert(p.sections.end(), of_one.begin(), of_one.end());
      }
      p.saved_transposed = p.dims.size() > 1 && random() % 2 == 0;
      p.saved_dims = p.dims;
      if (p.saved_transposed) std::swap(p.saved_dims.back(), p.saved_dims[p.dims.size() - 2]);
      if (p.cut_dimension == 0 && !p.saved_transposed && random() % 3 == 0)  // rows of padding
        p.saved_dims.front() -= static_cast<int>(random() % static_cast<unsigned>(p.dims.front()));
      p.offset = end;
      end += (p.elements() + group_alignment - 1) / group_alignment * group_alignment;
      group.parameters.push_back(std::move(p));
    }
    group.parts = {axes::tensor, parts};
    group.elements = end * parts * shards;  // more than enough
    std::map<std::string, std::vector<int>> had;
    for (int part = 0; part < parts; ++part) {
      const GroupSpec own = part_of(group, part);
      for (int r = 0; r < shards; ++r)
        for (const ParameterSpec& p : shard_of(own, r, shards).parameters) {
          const auto whole = std::ranges::find(group.parameters, p.name, &ParameterSpec::name);
          REQUIRE(whole != group.parameters.end());
          CAPTURE(round, p.name, part, r);
          CHECK(p.tensor_elements() == whole->tensor_elements());
          std::vector<int>& of = had[p.name];
          of.resize(static_cast<std::size_t>(whole->elements()));
          std::int64_t next = 0;
          p.slice.for_each_run(
              p.elements(), [&](std::int64_t first, std::int64_t at, std::int64_t count) {
                CHECK(at == next);
                next += count;
                if (whole->sections.empty()) {
                  CHECK(place_in(*whole, first) / own_size(*whole, parts) == part);
                  CHECK(place_in(*whole, first + count - 1) / own_size(*whole, parts) == part);
                }
                REQUIRE(first + count <= whole->elements());
                for (std::int64_t k = first; k < first + count; ++k)
                  ++of[static_cast<std::size_t>(k)];
              });
          CHECK(next == p.elements());
        }
    }
    for (const ParameterSpec& p : group.parameters)
      CHECK(had[p.name] == std::vector<int>(static_cast<std::size_t>(p.elements()), 1));
  }
}

TEST_CASE("the shards of a state have room for the rank with the most of it") {
  ModelGraph graph;
  graph.groups.push_back({"g", {{"large", {1000}, 0}, {"small", {10}, 1024}}, 1152});
  const ModelGraph cut = divisible(graph, {2, 2}, Unit::block);
  const StateSpec scales{"scale", DType::f32, 0, [](const ParameterSpec& p) {
                           return p.tensor_elements() >= 100
                                      ? std::vector<std::int64_t>{(p.elements() + 255) / 256}
                                      : std::vector<std::int64_t>{};
                         }};
  // three blocks and one: each a piece of its own
  const Layout halves = Layout().cut(axes::shard);
  CHECK(local_entries(scales, cut.groups[0], halves, {2, 2}) == group_alignment);
  // the tensor's end, though that alone is small
  CHECK(state_layout(scales, shard_of(cut.groups[0], 1, 2)).entries > 0);
  CHECK(local_entries({"exp_avg", DType::f32}, cut.groups[0], halves, {2, 2}) ==
        cut.groups[0].elements / 2);
}

}  // namespace shards_test
