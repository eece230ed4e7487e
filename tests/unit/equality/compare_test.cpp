#include "equality/compare.hpp"
#include "support/catch.hpp"
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace compare_test {
using namespace trainx;
using namespace trainx::equality;

SavedTensor floats(const std::vector<float>& values) {
  return {DType::f32,
          {static_cast<std::int64_t>(values.size())},
          {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}};
}

Results results(std::vector<double> losses, std::vector<float> weights = {1, 2, -4}) {
  return {.metrics = {{"loss", std::move(losses)}},
          .tensors = {{"model", {{"h.0.w", floats(weights)}, {"wte", floats({1})}}}},
          .state = {{"step", "3"}}};
}

std::size_t count(const Relation& relation, const Results& a, const Results& b) {
  return differences(relation, a, b).size();
}

TEST_CASE("equal holds for the same bits alone") {
  for (const char* name : {"loss", "model", "model/h.", "state.step", "loss[0:1]", "loss[-1:]"}) {
    CAPTURE(name);
    const Relation relation{.equal = {quantity_of(name)}};
    CHECK(count(relation, results({2, 1}), results({2, 1})) == 0);
    Results other = results({2.5, 1.5}, {1, 2, -4.5F});
    other.state["step"] = "4";
    CHECK(count(relation, results({2, 1}), other) == 1);
  }
}

TEST_CASE("a slice or a prefix leaves the rest out") {
  const Results a = results({2, 1}), b = results({2, 1.5}, {1, 2, 9});
  CHECK(count({.equal = {quantity_of("loss[0:1]")}}, a, b) == 0);
  CHECK(count({.equal = {quantity_of("loss[1:]")}}, a, b) == 1);
  CHECK(count({.equal = {quantity_of("model/wte")}}, a, b) == 0);
  CHECK(count({.equal = {quantity_of("model/*.w")}}, a, b) == 1);
  CHECK(count({.equal = {quantity_of("model/*t")}}, a, b) == 0);
}

TEST_CASE("absent holds for what the changed run has none of") {
  Results b = results({1});
  b.tensors["optimizer"]["exp_avg.h.0.w"] = floats({1});
  for (const char* name : {"eval_loss", "optimizer", "model/h.1.", "state.none"}) {
    CAPTURE(name);
    CHECK(count({.absent = {quantity_of(name)}}, results({1}), b) == 0);
  }
  CHECK(count({.absent = {quantity_of("optimizer/*.h.0.")}}, b, results({1})) == 1);
  CHECK(count({.absent = {quantity_of("loss")}}, results({1}), b) == 1);
  CHECK(count({.absent = {quantity_of("state.step")}}, results({1}), b) == 1);
}

TEST_CASE("what is missing, differs in length or is not finite relates to nothing") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [a, b] :
       {std::pair{results({}), results({})}, std::pair{results({1}), results({1, 1})},
        std::pair{results({nan}), results({nan})}, std::pair{results({1}), results({nan})}}) {
    const Quantity loss = quantity_of("loss");
    CHECK(count({.equal = {loss}}, a, b) == 1);
    CHECK(count({.unequal = {loss}}, a, b) == 1);
    CHECK(count({.within = {{loss, 1e9}}}, a, b) == 1);
    CHECK(count({.apart = {{loss, 0}}}, a, b) == 1);
  }
  CHECK(count({.equal = {quantity_of("model/none")}}, results({1}), results({1})) == 1);
  CHECK(count({.equal = {quantity_of("optimizer")}}, results({1}), results({1})) == 1);
  CHECK(count({.equal = {quantity_of("state.none")}}, results({1}), results({1})) == 1);
  for (const char* name : {"model/none", "optimizer", "state.none"})
    CHECK(count({.unequal = {quantity_of(name)}}, results({1}), results({1})) == 1);
  Results more = results({1});
  more.tensors["model"]["extra"] = floats({1});
  CHECK(count({.equal = {quantity_of("model")}}, more, results({1})) == 1);
  CHECK(count({.within = {{quantity_of("model"), 1}}}, more, results({1})) == 1);
}

TEST_CASE("within and apart are bounds of the largest relative difference") {
  const Results a = results({2, 1.01}), b = results({2, 1});
  const Quantity loss = quantity_of("loss");
  CHECK(count({.within = {{loss, 0.011}}}, a, b) == 0);
  CHECK(count({.within = {{loss, 0.009}}}, a, b) == 1);
  CHECK(count({.apart = {{loss, 0.009}}}, a, b) == 0);
  CHECK(count({.apart = {{loss, 0.011}}}, a, b) == 1);
  CHECK(count({.unequal = {loss}}, a, b) == 0);
  CHECK(count({.unequal = {loss}}, a, a) == 1);
}

TEST_CASE("near is a bound of the share of the base's range") {
  const Results a = results({3, 2.02}), b = results({3, 2});
  const Quantity loss = quantity_of("loss");
  CHECK(count({.near = {{loss, 0.021}}}, a, b) == 0);
  CHECK(count({.near = {{loss, 0.019}}}, a, b) == 1);
  CHECK(count({.near = {{loss, 1}}}, results({3}), results({3})) == 1);  // no range
  CHECK(count({.near = {{loss, 1}}}, results({}), results({})) == 1);
  CHECK_THROWS_AS(count({.near = {{quantity_of("model"), 1}}}, a, b), std::invalid_argument);
}

TEST_CASE("margins are shares of bounds, more than 1 where a bound does not hold") {
  const Results a = results({3, 2.02}), b = results({3, 2});
  const Quantity loss = quantity_of("loss");
  const auto share = [&](const Relation& relation, const Results& changed) {
    const std::vector<Margin> all = margins(relation, changed, b);
    REQUIRE(all.size() == 1);
    return all[0].share;
  };
  CHECK(share({.within = {{loss, 0.1}}}, a) == Approx(0.1));
  CHECK(share({.near = {{loss, 0.1}}}, a) == Approx(0.2));
  CHECK(share({.apart = {{loss, 0.1}}}, a) == Approx(10));
  CHECK(share({.within = {{loss, 0.1}}}, b) == 0);
  CHECK(std::isinf(share({.apart = {{loss, 0.1}}}, b)));
  CHECK(std::isnan(share({.within = {{loss, 0.1}}}, results({3}))));
  CHECK(margins({.equal = {loss}}, a, b).empty());
}

TEST_CASE("between bounds all numbers of the changed run") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Relation relation{.between = {{quantity_of("loss"), {1, 2}}}};
  CHECK(count(relation, results({1, 2}), results({})) == 0);
  for (const std::vector<double>& losses :
       {std::vector{0.9, 1.0}, std::vector{1.0, 2.1}, std::vector{1.0, nan}, std::vector<double>{}})
    CHECK(count(relation, results(losses), results({1})) == 1);
}

TEST_CASE("elements of tensors are measured by the largest of their tensor") {
  const Results a = results({1}, {1.04F, 2, -4}), b = results({1});
  const Quantity model = quantity_of("model");
  CHECK(count({.within = {{model, 0.0101}}}, a, b) == 0);
  CHECK(count({.within = {{model, 0.0099}}}, a, b) == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(count({.within = {{model, 1}}}, results({1}, {nan, 2, -4}), b) == 1);
}

TEST_CASE("files of every checkpoint are compared as a whole") {
  Results a = results({1}), b = results({1});
  const Quantity checkpoints = quantity_of("checkpoints");
  CHECK(count({.equal = {checkpoints}}, a, b) == 1);
  a.state["checkpoints"] = b.state["checkpoints"] = "checkpoint-3 3 24\nmodel.safetensors 12ab\n";
  CHECK(count({.equal = {checkpoints}}, a, b) == 0);
  b.state["checkpoints"].back() = 'x';
  CHECK(count({.equal = {checkpoints}}, a, b) == 1);
}

TEST_CASE("what no quantity is called is refused") {
  for (const char* name :
       {"", "loss[", "loss/x", "model[0:1]", "state.step[0:]", "checkpoints/x", "Loss", "a b"})
    CHECK_THROWS_AS(quantity_of(name), std::invalid_argument);
  CHECK_THROWS_AS(largest_difference(quantity_of("state.step"), results({1}), results({1})),
                  std::invalid_argument);
}

}  // namespace compare_test
