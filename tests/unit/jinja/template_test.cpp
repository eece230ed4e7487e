#include "jinja/template.hpp"
#include "core/files.hpp"
#include "jinja/from_json.hpp"
#include "support/catch.hpp"
#include "support/source_dir.hpp"
#include <nlohmann/json.hpp>
#include <set>

namespace template_test {

using namespace trainx;
using namespace trainx::jinja;
using nlohmann::ordered_json;

namespace {

struct Outcome {
  std::string text;
  std::optional<Problem> problem;
  std::string why;
};

Dict dict_of(const ordered_json& variables) {
  Dict out;
  for (const auto& [name, value] : variables.items()) out.set(name, from_json(value));
  return out;
}

Outcome outcome_of(const std::string& source,
                   const ordered_json& variables = ordered_json::object(),
                   const Limits& limits = {}) {
  Outcome out;
  try {
    out.text = Template(source).render(dict_of(variables), {}, 0, limits);
  } catch (const TemplateError& problem) {
    out.problem = problem.problem();
    out.why = problem.what();
  }
  return out;
}

std::string text_of(const std::string& source, const ordered_json& variables) {
  const Outcome out = outcome_of(source, variables);
  INFO(source << ": " << out.why);
  CHECK(!out.problem);
  return out.text;
}

}  // namespace

TEST_CASE("templates render what jinja2 renders, and refuse what it refuses") {
  const auto recorded =
      ordered_json::parse(read_file(source_dir() + "/tests/data/jinja/cases.json"));
  std::set<std::string> unsupported;
  for (const auto& one : recorded["cases"]) {
    const std::string source = one["template"];
    const Outcome got = outcome_of(source, recorded["variables"]);
    INFO(source << "\n" << got.why);
    if (one.contains("refused"))
      CHECK(got.problem.has_value());
    else if (got.problem == Problem::unsupported)
      unsupported.insert(got.why);
    else
      CHECK((!got.problem && got.text == one["text"].get<std::string>()));
  }
  // What is refused by name.
  CHECK(unsupported == std::set<std::string>{});
}

TEST_CASE("a template cannot take more than its limits") {
  const auto limit = [](const std::string& source) {
    const Outcome out = outcome_of(source);
    INFO(source << ": " << out.text.substr(0, 100) << out.why);
    CHECK((out.problem == Problem::limit || out.problem == Problem::failed ||
           out.problem == Problem::unsupported));
  };
  for (const char* source :
       {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 1000000000000 }}", "{{ [0] * 1000000000000 }}", "{{ 'a'.ljust(1000000000000) }}",
        "{{ '%1000000000000d' % 1 }}", "{{ '{:>1000000000000}'.format('a') }}",
        "{{ 'a' | center(1000000000000) }}", "{{ 'a\nb' | indent(1000000000000) }}",
        "{{ 2 ** 100000 }}", "{{ 10 ** 10 ** 10 }}", "{{ '0'.zfill(1000000000000) }}",
        "{% set ns = namespace(x='a') %}{% for i in range(1000) %}{% set ns.x = ns.x + ns.x %}"
        "{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}{{ ns.x == ns.x[0] }}{{ ns.x | tojson }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
        "{% endfor %}{{ ns.x }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ range(100000) | batch(1) | list | map('join') | list | length * 'a' * 100000 }}"})
    limit(source);
  limit("{{ " + std::string(100'000, '(') + "1" + std::string(100'000, ')') + " }}");
  limit("{{ " + std::string(100'000, '[') + std::string(100'000, ']') + " }}");
  limit("{{ x" + [] {
    std::string out;
    for (int i = 0; i < 50'000; ++i) out += ".a";
    return out;
  }() + " }}");
  limit([] {
    std::string out;
    for (int i = 0; i < 10'000; ++i) out += "{% if 1 %}";
    return out;
  }());
  limit("{{ " + [] {
    std::string out;
    for (int i = 0; i < 50'000; ++i) out += "not ";
    return out;
  }() + "1 }}");
}

TEST_CASE("values that hold themselves are let go of") {
  CHECK(outcome_of("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns.a.a is defined }}").text ==
        "True");
  CHECK(outcome_of("{% set ns = namespace() %}{% for x in [1] %}{% set ns.l = loop.changed %}"
                   "{{ ns.l(ns.l) }}{% endfor %}")
            .text == "True");
}

TEST_CASE("lists, objects and null of a conversation are no texts") {
  const auto messages = ordered_json::parse(
      R"([{"role": "user", "content": [{"type": "text", "text": "Hi"}], "x": null,
           "calls": [{"arguments": {"n": null, "l": [1]}}]}])");
  Dict variables;
  variables.set("m", trainx::jinja::from_json(messages, "messages"));  // nlohmann has one, too
  const auto problem_of = [&](const std::string& source) -> std::optional<Problem> {
    try {
      Template(source).render(variables, {}, 0);
    } catch (const TemplateError& problem) { return problem.problem(); }
    return std::nullopt;
  };
  for (const char* source :
       {"{{ m[0].content }}", "{{ m[0].content ~ '' }}", "{{ m[0] }}", "{{ m }}", "{{ [m[0]] }}",
        "{{ m[0].x }}", "{{ m[0].content | string }}", "{{ m[0].content | trim }}",
        "{{ '%s' % m[0].content }}", "{{ [m[0].content] | join }}", "{{ m[0].calls[0].arguments }}",
        "{{ m[0].calls[0].arguments.n }}", "{{ m[0] | string }}"})
    CHECK(problem_of(source) == Problem::python_text);
  CHECK(problem_of("{{ 'a' + m[0].content }}") == Problem::failed);
  for (const char* source : {"{{ m[0].content | tojson }}", "{{ m[0].content[0].text }}",
                             "{{ m[0].calls[0].arguments.l }}", "{{ m[0].x is none }}"})
    CHECK(!problem_of(source));
}

TEST_CASE("a generation block stands between marks") {
  const std::string source =
      "{% for x in [1, 2] %}a{% generation %}{{ x }}{% endgeneration %}{% endfor %}";
  CHECK(Template(source).render({}, {"<", ">"}, 0) == "a<1>a<2>");
  CHECK(Template(source).has_generation());
  CHECK(!Template("{% raw %}{% generation %}{% endraw %}").has_generation());
}

TEST_CASE("strftime_now sees the time that is given") {
  const std::time_t noon = 1'700'000'000;
  CHECK(Template("{{ strftime_now('%Y') }}").render({}, {}, noon) == "2023");
  CHECK(text_of("{{ strftime_now('%f|%Z|%z|%%f') }}", {}) == "000000|||%f");
}

}  // namespace template_test
