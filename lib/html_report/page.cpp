#include "html_report/page.hpp"
#include "core/units.hpp"
#include "html_report/html.hpp"
#include "html_report/plot.hpp"
#include "metrics/report.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::html_report {
namespace {

std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_of(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

double median(const Points& points) {
  std::vector<double> y;
  for (const Point& p : points)
    if (std::isfinite(p.y)) y.push_back(p.y);
  if (y.empty()) return NAN;
  std::ranges::nth_element(y, y.begin() + static_cast<std::ptrdiff_t>(y.size() / 2));
  return y[y.size() / 2];
}

double largest(const Points& points) {
  double most = NAN;
  for (const Point& p : points) most = std::isfinite(p.y) && !(p.y <= most) ? p.y : most;
  return most;
}

/// As one would type it.
std::string command_line(const nlohmann::ordered_json& info) {
  std::string line;
  const auto words = info.find("argv");
  if (words == info.end() || !words->is_array()) return line;
  for (const auto& w : *words) {
    if (!w.is_string()) continue;
    std::string word = w.get<std::string>();
    const bool plain =
        !word.empty() &&
        word.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@") ==
            std::string::npos;
    if (!plain) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4)
        word.replace(at, 1, "'\\''");
      word = "'" + word + "'";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

std::string header(const RunRecord& run) {
  const std::string state = text_of(run.status, "state"), reason = text_of(run.status, "reason");
  const char* kind = state == "failed" ? "bad" : state == "done" ? "good" : "soft";
  std::string devices;
  for (const auto& d : run.info.value("devices", nlohmann::ordered_json::array()))
    if (d.is_string()) devices += (devices.empty() ? "" : ", ") + d.get<std::string>();
  std::string out =
      "<h1>" + escaped(run.name) + "</h1><div><span class='state " + kind + "'>" +
      escaped(state.empty() ? "no status" : state) + "</span> at step " +
      short_number(number_of(run.status, "step")) + (reason.empty() ? "" : ": " + escaped(reason)) +
      "</div><div class='soft'>" + escaped(run.folder) + " &middot; begun " +
      escaped(text_of(run.info, "started")) + " on " + escaped(text_of(run.info, "host")) +
      (devices.empty() ? "" : ", " + escaped(devices)) + " &middot; trainx " +
      escaped(text_of(run.info, "version")) + "</div>";
  if (const std::string line = command_line(run.info); !line.empty())
    out += "<pre>" + escaped(line) + "</pre>";
  return out;
}

std::string tile(const std::string& value, const std::string& words) {
  return "<div class='tile'><b>" + escaped(value) + "</b><span>" + escaped(words) + "</span></div>";
}

/// "10 of 26 batches" of the held-out set; empty where it was not logged.
std::string evaluated(const RunRecord& run) {
  const Points &some = run.of("eval_batches"), &all = run.of("eval_all_batches");
  if (some.empty() || all.empty()) return "";
  const std::string of = short_number(all.back().y) + " batches";
  return some.back().y < all.back().y ? short_number(some.back().y) + " of " + of : "all " + of;
}

std::string best_tiles(const RunRecord& run) {
  const Points& values = run.of("eval_" + run.best_metric);
  if (values.empty()) return "";
  const auto comes_first = [&](const Point& a, const Point& b) {
    return std::isfinite(a.y) && (run.best_is_highest ? !(a.y <= b.y) : !(a.y >= b.y));
  };
  const Point best = *std::ranges::min_element(values, comes_first);
  const std::string on = evaluated(run);
  std::string out = tile(short_number(best.y), "best held-out " + run.best_metric +
                                                   (on.empty() ? "" : " on " + on) + ", at step " +
                                                   short_number(best.x));
  if (run.best_metric == "loss" && run.entropy_floor && *run.entropy_floor > 0)
    out += tile(short_number(100 * (best.y / *run.entropy_floor - 1)) + " %",
                "above the entropy of the data");
  return out;
}

std::string tiles(const RunRecord& run) {
  std::string out = "<div class='tiles'>";
  const Points &loss = run.of("loss"), &tokens = run.of("tokens_seen"), &epochs = run.of("epoch");
  if (!loss.empty()) {
    const double before = loss.size() > 1 ? loss[loss.size() - 2].x + 1 : loss.back().x;
    const std::string steps = before < loss.back().x ? "steps " + short_number(before) + " to "
                                                     : "step ";
    out += tile(short_number(loss.back().y),
                "mean training loss of " + steps + short_number(loss.back().x));
  }
  out += best_tiles(run);
  if (!epochs.empty()) out += tile(short_number(epochs.back().y), "epochs");
  if (!tokens.empty()) out += tile(human_count(tokens.back().y), "tokens seen");
  if (const double rate = median(run.of("tokens_per_second")); std::isfinite(rate))
    out += tile(human_count(rate), "tokens per second, median");
  if (const double ms = median(run.of("step_time_ms")); std::isfinite(ms))
    out += tile(human_seconds(ms / 1e3), "a step, median");
  if (const double parameters = number_of(run.plan, "parameters"); parameters > 0)
    out += tile(human_count(parameters), "parameters");
  if (const double bytes = largest(run.of("device_memory_bytes")); std::isfinite(bytes))
    out += tile(human_bytes(static_cast<std::int64_t>(bytes)), "of memory, at most");
  return out + "</div>\n";
}

/// Beside what training had of the same name.
Plot held_out(const RunRecord& run, const std::string& name, const Points& points) {
  const Points& trained = run.of(name);
  if (trained.empty()) return {"held-out " + name, "", {{"eval_" + name, points, true}}};
  return {name, "", {{"training", trained}, {"held out", points, true}}};
}

std::string plots(const RunRecord& run) {
  std::vector<Plot> all;
  Plot loss{"loss",
            "nats per target",
            {{"training", run.of("loss")}, {"held out", run.of("eval_loss"), true}}};
  if (run.entropy_floor) loss.level = run.entropy_floor, loss.level_name = "entropy of the data";
  all.push_back(loss);
  for (const auto& [key, points] : run.series)
    if (key.starts_with("eval_") && key != "eval_loss" && key != "eval_targets" &&
        key != "eval_entropy_floor" && !key.ends_with("_batches"))
      all.push_back(held_out(run, key.substr(5), points));
  for (const auto& [key, points] : run.series)
    if (!metrics::is_own_key(key) && !run.series.contains("eval_" + key))
      all.push_back({key, "", {{"training", points}}});
  all.push_back({"learning rate", "", {{"lr", run.of("lr")}}});
  all.push_back({"gradient norm", "before clipping", {{"grad_norm", run.of("grad_norm")}}, true});
  all.push_back({"tokens per second", "", {{"tokens_per_second", run.of("tokens_per_second")}}});
  all.push_back({"loss scale", "of fp16", {{"loss_scale", run.of("loss_scale")}}, true});
  all.push_back({"largest load of an expert",
                 "by the mean of its layer",
                 {{"expert_load_max", run.of("expert_load_max")}}});
  all.push_back({"least entropy of a layer's loads",
                 "1: experts have as many tokens",
                 {{"expert_load_entropy", run.of("expert_load_entropy")}}});
  if (largest(run.of("dropped_tokens")) > 0)
    all.push_back({"choices that no expert computed",
                   "of a step",
                   {{"dropped_tokens", run.of("dropped_tokens")}}});
  for (const auto& [kind, words] : {std::pair{"flushed", "became zero"},
                                    std::pair{"saturated", "were cut to the largest number"}}) {
    Plot plot{std::string("elements in fp8 that ") + words, "share of those that were cast", {}};
    for (const char* of : metrics::Fp8Shares::names)
      plot.curves.push_back({of, run.of("fp8_" + std::string(kind) + "_" + of)});
    all.push_back(plot);
  }
  all.push_back({"model FLOPs", "share of the chip's", {{"mfu", run.of("mfu")}}});
  all.push_back({"power", "W", {{"watts", run.of("watts")}}});
  std::string out;
  for (const Plot& plot : all) out += figure(plot);
  return out.empty() ? "<p class='soft'>nothing was logged yet</p>"
                     : "<div class='plots'>" + out + "</div>\n";
}

std::string memory(const RunRecord& run) {
  const auto parts = run.plan.find("memory");
  if (parts == run.plan.end() || !parts->is_array()) return {};
  std::vector<Bar> all;
  for (const auto& part : *parts)
    if (const double bytes = number_of(part, "bytes"); bytes > 0)
      all.push_back(
          {text_of(part, "category"), bytes, human_bytes(static_cast<std::int64_t>(bytes))});
  const double planned = number_of(run.plan, "total_bytes"),
               measured = largest(run.of("device_memory_bytes"));
  std::string words = "planned " + human_bytes(static_cast<std::int64_t>(planned)) +
                      " for each rank";
  if (std::isfinite(measured))
    words += ", measured " + human_bytes(static_cast<std::int64_t>(measured)) + " at most";
  return "<h2>Memory</h2><p class='soft'>" + escaped(words) + "</p>" + bars(all);
}

/// Measured by --profile where there was one; else as the plan predicts it; what waited for data in
/// any case.
std::string step_budget(const RunRecord& run) {
  std::vector<Bar> all;
  std::string words;
  const auto add = [&](const std::string& name, double ms) {
    if (ms > 0) all.push_back({name, ms, human_seconds(ms / 1e3)});
  };
  if (!run.work_ms.empty()) {
    words = "measured by --profile; lanes that work beside each other add up to more than a step";
    for (const auto& [kind, ms] : run.work_ms) add(kind, ms);
  } else if (const auto time = run.plan.find("time"); time != run.plan.end() && time->is_object()) {
    words = "predicted from the GPU's measured rates: " +
            human_seconds(number_of(*time, "step_ms") / 1e3) +
            " a step; `trainx train --profile` measures it";
    add("matrix products", number_of(*time, "gemm_ms")),
        add("attention", number_of(*time, "attention_ms")),
        add("memory traffic", number_of(*time, "memory_ms"));
    add("the rest, starting kernels", number_of(*time, "step_ms") - number_of(*time, "gemm_ms") -
                                          number_of(*time, "attention_ms") -
                                          number_of(*time, "memory_ms"));
  }
  const double step = median(run.of("step_time_ms")), wait = median(run.of("data_wait_ms"));
  if (!std::isfinite(step)) return {};
  if (words.empty()) words = "what it consists of, `trainx train --profile` measures";
  add("waiting for data", wait);
  std::ranges::stable_sort(all, [](const Bar& a, const Bar& b) { return a.value > b.value; });
  return "<h2>A step</h2><p class='soft'>median " + escaped(human_seconds(step / 1e3)) + "; " +
         escaped(words) + "</p>" + bars(all, step);
}

std::string checkpoints(const RunRecord& run) {
  if (run.checkpoints.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const checkpoint::Listed& c : run.checkpoints) {
    std::string links;
    for (const std::string& link : c.links) links += (links.empty() ? "" : ", ") + link;
    rows.push_back({std::to_string(c.step), escaped(human_bytes(c.bytes)), links,
                    "<code>" + escaped(c.path) + "</code>"});
  }
  return "<h2>Checkpoints</h2>" + table({"step", "size", "", "folder"}, rows);
}

std::string recipe(const RunRecord& run) {
  std::vector<std::vector<std::string>> chosen, defaults;
  // one whose origin was not written down may have been chosen
  for (const Setting& s : run.settings)
    (s.origin == "default" ? defaults : chosen)
        .push_back({"<code>" + escaped(s.key) + "</code>", "<code>" + escaped(s.value) + "</code>",
                    escaped(s.origin)});
  return "<h2>Recipe</h2>" + (chosen.empty() ? "" : table({"key", "value", "from"}, chosen)) +
         (defaults.empty() ? ""
                           : "<details><summary>" + std::to_string(defaults.size()) +
                                 " values as they are by default</summary>" + table({}, defaults) +
                                 "</details>");
}

/// Of ECC's counters in run.json, where the run saw an error that could not be corrected.
std::string memory_errors(const nlohmann::ordered_json& info) {
  const auto found = info.find("gpu_memory_errors");
  if (found == info.end() || !found->is_object()) return "";
  const auto count = [&](const char* when) {
    const auto counters = found->find(when);
    return counters != found->end() && counters->is_object()
               ? number_of(*counters, "ecc_uncorrected")
               : 0;
  };
  const double during = count("end") - count("begin");
  if (!(during > 0)) return "";
  return "<p class='bad'>ECC could not correct " + short_number(during) + " error" +
         (during == 1 ? "" : "s") + " in the GPU's memory during the run</p>";
}

}  // namespace

std::string page(const RunRecord& run) {
  const std::string unread = run.unread_lines > 0
                                 ? "<p class='bad'>" + std::to_string(run.unread_lines) +
                                       " lines of metrics.jsonl could not be read</p>"
                                 : "";
  return html_page(run.name, header(run) + memory_errors(run.info) + tiles(run) + unread +
                                 plots(run) + memory(run) + step_budget(run) + checkpoints(run) +
                                 recipe(run));
}

}  // namespace trainx::html_report
