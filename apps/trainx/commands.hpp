// The commands, a file each. `add_x` declares its arguments to `app` and, when it is chosen, sets
// context.run.
#pragma once
#include "context.hpp"

namespace trainx::app {

void add_train(CLI::App& app, Context& context);
void add_validate(CLI::App& app, Context& context);
void add_plan(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_init(CLI::App& app, Context& context);
void add_list(CLI::App& app, Context& context);
void add_schema(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_eval(CLI::App& app, Context& context);
void add_generate(CLI::App& app, Context& context);
void add_ckpt(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_bench_lr(CLI::App& bench, Context& context);
void add_bench_guides(CLI::App& bench, Context& context);
void add_sweep(CLI::App& app, Context& context);
void add_data(CLI::App& app, Context& context);
void add_data_tokenize(CLI::App& data, Context& context);
void add_data_pack(CLI::App& data, Context& context);
void add_data_inspect(CLI::App& data, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

}  // namespace trainx::app
