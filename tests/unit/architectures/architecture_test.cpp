#include "architectures/architecture.hpp"
#include "support/catch.hpp"

namespace architecture_test {

using namespace trainx;
using namespace trainx::architectures;

namespace {

/// An architecture's options beside its dims.
struct Entry {
  ModelOptions options;
  ModelDims dims;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list{
      {Gpt2Options{}, Gpt2Dims{}}, {BertOptions{}, BertDims{}}, {CustomOptions{}, CustomDims{}}};
  return list;
}

}  // namespace

TEST_CASE("models that learn the next token from blocks of trainx generate") {
  for (const auto& [options, dims] : entries()) {
    REQUIRE(options.index() == dims.index());
    CHECK(generates(dims) == std::holds_alternative<Gpt2Dims>(dims));
    CHECK(packs(options) == std::holds_alternative<Gpt2Options>(options));
  }
}

TEST_CASE("for evaluation a model has no dropout and a document a row, and is otherwise the same") {
  const Gpt2Dims gpt2{.num_layers = 3, .dropout = 0.1, .packed = true};
  CHECK(std::get<Gpt2Dims>(for_evaluation(gpt2)) == Gpt2Dims{.num_layers = 3});
  const ModelDims bert = for_evaluation(BertDims{.num_layers = 3, .dropout = 0.1});
  CHECK(std::get<BertDims>(bert) == BertDims{.num_layers = 3, .dropout = 0});
  CHECK(architecture_name(for_evaluation(CustomDims{.options = {.name = "mine"}})) == "mine");
}

TEST_CASE("GPUs have kernels for GPT-2 and BERT, and LibTorch's for modules") {
  CHECK(without_gpu_kernel(Gpt2Dims{}) == "");
  CHECK(without_gpu_kernel(BertDims{}) == "");
  CHECK(without_gpu_kernel(CustomDims{}).empty());
}

}  // namespace architecture_test
