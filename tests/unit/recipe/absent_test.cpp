#include "recipe/absent.hpp"
#include "recipe/schema.hpp"
#include "support/catch.hpp"

namespace absent_test {

using namespace trainx::recipe;

TEST_CASE("what is called absent is no key of a recipe") {
  for (const FieldHelp& field : schema_keys()) {
    const std::string key = field.key.substr(field.key.rfind('.') + 1);
    INFO(field.key);
    CHECK_FALSE(absent_feature(key));
  }
  CHECK(absent_feature("lora") == absent_feature("lora_rank"));
  CHECK(absent_feature("wandb"));
  CHECK_FALSE(absent_feature("lor"));
}

}  // namespace absent_test
