#include "support.hpp"

namespace trainx::recipe {

TEST_CASE("five mistakes are listed in one run, each with its place") {
  CHECK(problems_of("run:\n"
                    "  duration: 2000\n"
                    "  deterministic: yes\n"
                    "optimizer:\n"
                    "  type: adamm\n"
                    "  lr: 010\n"
                    "batch: {global_batch_size: 8, micro_batch_sise: 4, grad_accum_steps: 2}\n"
                    "schedule: {final_ratio: 1.5}\n") ==
        Lines{"t.yaml:2:13: run.duration: has no unit: steps, epochs, tokens, s, min, h or d (did you mean '2000 steps'?)",
              "t.yaml:3:18: run.deterministic: must be true or false, not 'yes' (did you mean 'true'?)",
              "t.yaml:5:9: optimizer.type: must be one of adamw, sgd, not 'adamm' (did you mean 'adamw'?)",
              "t.yaml:6:7: optimizer.lr: must be a finite number, not '010' (did you mean '10'?)",
              "t.yaml:7:31: batch.micro_batch_sise: unknown key (did you mean 'micro_batch_size'?)",
              "t.yaml:8:25: schedule.final_ratio: must be between 0 and 1, not 1.5"});
}

}  // namespace trainx::recipe
