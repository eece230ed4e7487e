#include "launch/job.hpp"
#include <nlohmann/json.hpp>

namespace trainx::launch {
namespace {

nlohmann::json to_json(const comm::Membership& m) {
  return {{"rank", m.rank},
          {"world_size", m.world_size},
          {"local_rank", m.local_rank},
          {"local_world_size", m.local_world_size},
          {"address", m.address},
          {"port", m.port},
          {"listener", m.listener},
          {"run_id", m.run_id},
          {"secret", m.secret},
          {"launcher", m.launcher}};
}

comm::Membership membership_from_json(const nlohmann::json& j) {
  comm::Membership m;
  j.at("rank").get_to(m.rank);
  j.at("world_size").get_to(m.world_size);
  j.at("local_rank").get_to(m.local_rank);
  j.at("local_world_size").get_to(m.local_world_size);
  j.at("address").get_to(m.address);
  j.at("port").get_to(m.port);
  j.at("listener").get_to(m.listener);
  j.at("run_id").get_to(m.run_id);
  j.at("secret").get_to(m.secret);
  j.at("launcher").get_to(m.launcher);
  return m;
}

nlohmann::json to_json(const GenerateOptions& g) {
  return {{"prompt", g.prompt},
          {"tokenizer", g.tokenizer},
          {"max_tokens", g.max_tokens},
          {"temperature", g.sampling.temperature},
          {"top_k", g.sampling.top_k},
          {"top_p", g.sampling.top_p},
          {"beams", g.beam.beams},
          {"length_penalty", g.beam.length_penalty},
          {"seed", g.seed},
          {"ignore_end_of_text", g.ignore_end_of_text},
          {"device", g.device},
          {"compute", g.compute}};
}

GenerateOptions generate_from_json(const nlohmann::json& j) {
  GenerateOptions g;
  j.at("prompt").get_to(g.prompt);
  j.at("tokenizer").get_to(g.tokenizer);
  j.at("max_tokens").get_to(g.max_tokens);
  j.at("temperature").get_to(g.sampling.temperature);
  j.at("top_k").get_to(g.sampling.top_k);
  j.at("top_p").get_to(g.sampling.top_p);
  j.at("beams").get_to(g.beam.beams);
  j.at("length_penalty").get_to(g.beam.length_penalty);
  j.at("seed").get_to(g.seed);
  j.at("ignore_end_of_text").get_to(g.ignore_end_of_text);
  j.at("device").get_to(g.device);
  j.at("compute").get_to(g.compute);
  return g;
}

}  // namespace

nlohmann::json to_json(const Job& job) {
  const auto& o = job.output;
  return {
      {"command", job.command},
      {"resolved_recipe", job.resolved_recipe},
      {"recipe_source", job.recipe_source},
      {"origins", job.origins},
      {"facts", facts::to_json(job.facts)},
      {"plan_fingerprint", job.plan_fingerprint},
      {"choices", job.choices},
      {"run_folder", job.run_folder},
      {"fork_name", job.fork_name},
      {"checkpoint", job.checkpoint},
      {"argv", job.argv},
      {"directory", job.directory},
      {"build", job.build},
      {"log", job.log},
      {"overwrite", job.overwrite},
      {"eval_batches", job.eval_batches},
      {"generate", to_json(job.generate)},
      {"profile_steps", job.profile_steps},
      {"allow_degraded", job.allow_degraded},
      {"bench",
       {{"rounds", job.bench.rounds}, {"seconds", job.bench.seconds}, {"paced", job.bench.paced}}},
      {"membership", to_json(job.membership)},
      {"cores", job.cores},
      {"output",
       {{"json", o.json},
        {"quiet", o.quiet},
        {"verbose", o.verbose},
        {"color", o.color},
        {"console", o.console}}}};
}

Job job_from_json(const nlohmann::json& j) {
  Job job;
  j.at("command").get_to(job.command);
  j.at("resolved_recipe").get_to(job.resolved_recipe);
  j.at("recipe_source").get_to(job.recipe_source);
  j.at("origins").get_to(job.origins);
  job.facts = facts::facts_from_json(j.at("facts"));
  j.at("plan_fingerprint").get_to(job.plan_fingerprint);
  j.at("choices").get_to(job.choices);
  j.at("run_folder").get_to(job.run_folder);
  j.at("fork_name").get_to(job.fork_name);
  j.at("checkpoint").get_to(job.checkpoint);
  j.at("argv").get_to(job.argv);
  j.at("directory").get_to(job.directory);
  j.at("build").get_to(job.build);
  j.at("log").get_to(job.log);
  j.at("overwrite").get_to(job.overwrite);
  j.at("eval_batches").get_to(job.eval_batches);
  job.generate = generate_from_json(j.at("generate"));
  j.at("profile_steps").get_to(job.profile_steps);
  j.at("allow_degraded").get_to(job.allow_degraded);
  const auto& b = j.at("bench");
  b.at("rounds").get_to(job.bench.rounds);
  b.at("seconds").get_to(job.bench.seconds);
  b.at("paced").get_to(job.bench.paced);
  job.membership = membership_from_json(j.at("membership"));
  j.at("cores").get_to(job.cores);
  const auto& o = j.at("output");
  o.at("json").get_to(job.output.json);
  o.at("quiet").get_to(job.output.quiet);
  o.at("verbose").get_to(job.output.verbose);
  o.at("color").get_to(job.output.color);
  o.at("console").get_to(job.output.console);
  return job;
}

}  // namespace trainx::launch
