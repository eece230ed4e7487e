#include "fuzz/mutators/json.hpp"
#include "fuzz/mutators/mutators.hpp"
#include "recipe/schema.hpp"
#include <algorithm>

namespace trainx::fuzz {
namespace {

constexpr std::string_view values[] = {"0",
                                       "1",
                                       "-1",
                                       "2",
                                       "0.5",
                                       "1e-3",
                                       "1e309",
                                       ".nan",
                                       ".inf",
                                       "4294967296",
                                       "0x10",
                                       "1_000",
                                       "64MiB",
                                       "1%",
                                       "3 epochs",
                                       "100 steps",
                                       "auto",
                                       "null",
                                       "~",
                                       "true",
                                       "no",
                                       "\"\"",
                                       "' '",
                                       "[]",
                                       "{}",
                                       "[1, 2]",
                                       "[a, b]",
                                       "{a: 1}",
                                       "{type: adamw}",
                                       "|",
                                       ">",
                                       "&a 1",
                                       "*a",
                                       "!!str 1",
                                       "${run.name}",
                                       "${env:HOME}",
                                       "${recipe_dir}/x",
                                       "${model.type}",
                                       "$${a}",
                                       "${a",
                                       "tiny.yaml",
                                       "gpt2",
                                       "llama",
                                       "stories",
                                       "text",
                                       "a.txt",
                                       "x*",
                                       "a: b",
                                       "# c",
                                       "\u00e9",
                                       "2024-01-01"};

struct Line {
  std::size_t indent = 0;
  std::string text;  // without it
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    lines.push_back({indent, std::string(line.substr(indent))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The line and all that is indented below it.
std::size_t end_of_block(const std::vector<Line>& lines, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < lines.size() && (lines[end].text.empty() || lines[end].indent > lines[begin].indent))
    ++end;
  return end;
}

std::string value_for(const recipe::FieldHelp& field, Random& random) {
  if (!field.words.empty() && !random.one_in(3)) return random.pick(field.words);
  if (!field.default_text.empty() && random.one_in(2)) return field.default_text;
  return std::string(random.pick(values));
}

/// Gives a key of the schema a value: below its section's line, or in a section of its own.
void set_key(std::vector<Line>& lines, Random& random) {
  const recipe::FieldHelp& field = random.pick(recipe::schema_keys());
  std::string_view rest = field.key;
  std::size_t indent = 0, at = lines.size();
  for (std::size_t dot; (dot = rest.find('.')) != std::string_view::npos;
       rest.remove_prefix(dot + 1), indent += 2) {
    const std::string section = std::string(rest.substr(0, dot)) + ":";
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.indent == indent && line.text.starts_with(section);
    });
    if (found != lines.end())
      at = static_cast<std::size_t>(found - lines.begin());
    else
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), Line{indent, section});
    ++at;
  }
  const std::string key = std::string(rest) + ":";
  const std::string text = key + " " + value_for(field, random);
  const std::size_t end = at == lines.size() || at == 0 ? at : end_of_block(lines, at - 1);
  for (std::size_t i = at; i < end; ++i)
    if (lines[i].indent == indent && lines[i].text.starts_with(key)) {
      lines[i].text = text;
      return;
    }
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), Line{indent, text});
}

void set_value(Line& line, Random& random) {
  const std::size_t colon = line.text.find(": ");
  const std::string key =
      line.text.substr(0, colon == std::string::npos ? line.text.find(':') : colon);
  const auto& keys = recipe::schema_keys();
  const auto field = std::ranges::find_if(
      keys, [&](const recipe::FieldHelp& f) { return f.key.ends_with("." + key); });
  line.text = key + ": " +
              (field != keys.end() ? value_for(*field, random) : std::string(random.pick(values)));
}

void mutate(std::vector<Line>& lines, const std::vector<Line>& others, Random& random) {
  using Difference = std::ptrdiff_t;
  if (lines.empty() || random.one_in(3)) return set_key(lines, random);
  const std::size_t begin = random.below(lines.size()), end = end_of_block(lines, begin);
  const auto first = lines.begin() + static_cast<Difference>(begin),
             last = lines.begin() + static_cast<Difference>(end);
  switch (random.below(8)) {
    case 0: lines.erase(first, last); return;
    case 1: {  // elsewhere, with another section's indentation
      std::vector<Line> block(first, last);
      const std::size_t to = random.below(lines.size() + 1);
      const std::size_t indent = to < lines.size() ? lines[to].indent : 0, was = block[0].indent;
      for (Line& line : block) line.indent = line.indent - std::min(line.indent, was) + indent;
      lines.insert(lines.begin() + static_cast<Difference>(to), block.begin(), block.end());
      return;
    }
    case 2: {
      if (others.empty()) return;
      const std::size_t from = random.below(others.size());
      lines.insert(first, others.begin() + static_cast<Difference>(from),
                   others.begin() + static_cast<Difference>(end_of_block(others, from)));
      return;
    }
    case 3: lines[begin].indent += random.one_in(2) ? 2 : 1; return;
    case 4: lines[begin].indent -= std::min<std::size_t>(lines[begin].indent, 2); return;
    case 5: lines[begin].text = mutated_text(lines[begin].text, values, random); return;
    case 6: lines[begin].text = (random.one_in(2) ? "- " : "x-") + lines[begin].text; return;
    default: return set_value(lines[begin], random);
  }
}

}  // namespace

std::string mutate_recipe(std::string_view input, std::string_view other, Random& random) {
  constexpr std::size_t most_lines = 400;
  std::vector<Line> lines = lines_of(input);
  if (lines.size() > most_lines) return {};
  const std::vector<Line> others = lines_of(other);
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes)
    mutate(lines, others, random);
  std::string out;
  for (const Line& line : lines) out += std::string(line.indent, ' ') + line.text + "\n";
  return out;
}

}  // namespace trainx::fuzz
