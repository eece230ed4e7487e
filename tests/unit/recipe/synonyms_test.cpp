#include "recipe/synonyms.hpp"
#include "recipe/schema.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <tuple>

namespace trainx::recipe::synonyms_test {
namespace {

std::vector<std::string> words_of(std::string_view key) {
  for (const FieldHelp& field : schema_keys())
    if (field.key == key && !field.words.empty()) return field.words;
  return {};
}

}  // namespace

TEST_CASE("values in the words of other tools get a suggestion that the key takes") {
  for (const auto& [key, theirs, ours] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"precision.compute", "bfloat16", "bf16"},
           {"precision.compute", "torch.float16", "fp16"},
           {"optimizer.type", "adamw_bnb_8bit", "adamw_8bit"},
           {"optimizer.type", "adamw_torch_fused", "adamw"},
           {"model.attention", "sdpa", "auto"},
           {"model.attention", "flash_attention_2", "flash"},
           {"parallel.mode", "fsdp", "zero3"},
           {"parallel.mode", "SHARD_GRAD_OP", "zero2"},
           {"memory.optimizer_offload.where", "nvme", "disk"},
           {"memory.parameter_offload", "nvme", "disk"},
           {"memory.activation_checkpoint", "true", "full"},
           {"run.device", "cuda", "gpu"},
           {"schedule.type", "cosine_with_restarts", "cosine_restarts"},
           {"data.type", "json", "jsonl"},
           {"precision.compute", "bf61", "bf16"}}) {
    INFO(key << ": " << theirs);
    const auto words = words_of(key);
    CHECK(std::ranges::count(words, ours) == 1);
    CHECK(name_meant(theirs, words).value_or("nothing") == ours);
  }
  CHECK_FALSE(name_meant("nvme", words_of("precision.compute")));
}

TEST_CASE("a key in the wrong section leads to the one section that has it") {
  CHECK(key_meant("run", "micro_batch_size") == "batch.micro_batch_size");
  CHECK(key_meant("", "warmup") == "schedule.warmup");
  CHECK(key_meant("run", "lr") == "optimizer.lr");  // optimizer.groups have a key of this name
  CHECK(key_meant("run", "weight_decay") == "optimizer.options.weight_decay");
  CHECK_FALSE(key_meant("optimizer", "lr"));  // its own section
  CHECK_FALSE(key_meant("run", "every"));     // several sections have it
  CHECK_FALSE(key_meant("run", "zzz"));
}

}  // namespace trainx::recipe::synonyms_test
