#include "core/suggest.hpp"
#include "support/catch.hpp"

namespace trainx::suggest_test {

TEST_CASE("a near miss gets the word that was meant") {
  const std::vector<std::string> commands{"train", "validate", "plan",     "show", "init",
                                          "list",  "eval",     "generate", "ckpt", "version"};
  CHECK(suggest("trian", commands) == "train");  // neighbours swapped
  CHECK(suggest("validat", commands) == "validate");
  CHECK(suggest("TRAIN", commands) == "train");
  CHECK(suggest("gen", commands) == "generate");  // its beginning, and no other's
  CHECK(suggest("shwo", commands) == "show");
  CHECK_FALSE(suggest("frobnicate", commands));
  CHECK_FALSE(suggest("", commands));
  CHECK_FALSE(suggest("x", commands));
  CHECK_FALSE(suggest(std::string(1 << 20, 't'), commands));
  CHECK_FALSE(suggest("train", {}));
  CHECK(suggest("max-grad-norm", {"max_grad_norm"}) == "max_grad_norm");
  CHECK(suggest("bf61", {"fp32", "bf16"}) == "bf16");
  CHECK(suggest("global_batch", {"global_batch_size", "micro_batch_size"}) == "global_batch_size");
  CHECK_FALSE(suggest("beta", {"beta1_of_first", "beta2_of_second"}));  // two fit
  CHECK(did_you_mean("trian", commands) == " (did you mean 'train'?)");
  CHECK(did_you_mean("xyzzy", commands).empty());
}

TEST_CASE("the nearest wins") {
  CHECK(suggest("num_layer", {"num_heads", "num_layers", "num_labels"}) == "num_layers");
  CHECK(suggest("beta2", {"beta1", "beta2"}) == "beta2");
}

}  // namespace trainx::suggest_test
