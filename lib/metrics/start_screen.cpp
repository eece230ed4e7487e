#include "metrics/start_screen.hpp"
#include <algorithm>

namespace trainx::metrics {
namespace {

constexpr std::size_t columns = 80, most_lines = 20, most_planned_lines = 4;
constexpr std::size_t name_width = 12, value_width = columns - name_width - 1;

std::string named(const std::string& name, const std::string& value) {
  std::string line = "  " + name;
  line.resize(std::max(name_width, line.size() + 1), ' ');
  return "\n" + line + value;
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

/// Words joined by ", " in lines of `value_width`, at most `most` of them; the last counts what is
/// left out.
std::vector<std::string> filled(const std::vector<std::string>& words, std::size_t most) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = cut(words[i], value_width - 1) + (i + 1 < words.size() ? "," : "");
    const std::string more = "and " + std::to_string(words.size() - i) + " more (-v)";
    const bool fits = !lines.empty() && lines.back().size() + 1 + word.size() <= value_width;
    const bool last = lines.size() == most;
    if (last && i + 1 < words.size() &&
        (!fits || lines.back().size() + word.size() + more.size() + 2 > value_width)) {
      if (lines.back().size() + 1 + more.size() > value_width)
        lines.back().resize(lines.back().rfind(", ") + 1);
      lines.back() += " " + more;
      return lines;
    }
    if (fits)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

std::string paragraph(const std::string& name, const std::vector<std::string>& words,
                      std::size_t most) {
  std::string text;
  for (const std::string& line : filled(words, most)) text += named(text.empty() ? name : "", line);
  return text;
}

std::vector<std::string> written(const std::vector<Setting>& settings, const auto& wanted) {
  std::vector<std::string> words;
  for (const Setting& s : settings)
    if (wanted(s) && s.key != "run.name" && s.key != "run.output_dir")
      words.push_back(s.key + "=" + s.value);  // the title has both
  return words;
}

}  // namespace

std::string start_screen(const std::string& title, const std::vector<StartRow>& rows,
                         const std::vector<Setting>& settings) {
  std::string text = title;
  for (const StartRow& row : rows) text += named(row.name, cut(row.value, value_width));
  const auto from_file = [](const Setting& s) {
    return s.origin != "default" && s.origin != "planned" && s.origin != "command line";
  };
  auto set = written(settings, [](const Setting& s) {
    return s.origin == "command line";
  });  // most likely what this run is about
  std::ranges::copy(written(settings, from_file), std::back_inserter(set));
  const std::string planned = paragraph(
      "planned", written(settings, [](const Setting& s) { return s.origin == "planned"; }),
      most_planned_lines);
  const auto used =
      2 + rows.size() +
      static_cast<std::size_t>(std::ranges::count(planned, '\n'));  // with the title and the hint
  text += paragraph("set", set, most_lines > used + 1 ? most_lines - used : 1) + planned;
  const auto defaults = std::ranges::count(settings, "default", &Setting::origin);
  if (defaults > 0)
    text += "\n  " + std::to_string(defaults) + " more settings are defaults; -v lists them";
  return text;
}

}  // namespace trainx::metrics
