#include "equality/compare.hpp"
#include <cstdio>

namespace trainx::equality {
namespace {

std::string short_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Where a number lies outside the range, or there is none; else empty.
std::string outside(const Range& range, const std::vector<double>& numbers) {
  if (numbers.empty()) return "there are none";
  for (const double number : numbers)
    if (!(number >= range.low && number <= range.high))
      return short_of(number) + " is not between " + short_of(range.low) + " and " +
             short_of(range.high);
  return {};
}

}  // namespace

std::vector<std::string> differences(const Relation& relation, const Results& changed,
                                     const Results& base) {
  std::vector<std::string> found;
  for (const Quantity& quantity : relation.equal)
    if (const std::string why = unequal(quantity, changed, base); !why.empty())
      found.push_back(quantity.text + " is not equal: " + why);
  for (const Quantity& quantity : relation.unequal)
    if (const std::string why = unlike(quantity, changed, base); !why.empty())
      found.push_back(quantity.text + " cannot be compared: " + why);
    else if (unequal(quantity, changed, base).empty())
      found.push_back(quantity.text + " is equal, and must not be");
  for (const Quantity& quantity : relation.absent)
    if (has(quantity, changed)) found.push_back(quantity.text + " is there, and must not be");
  for (const auto& [quantity, bound] : relation.within)
    if (const double most = largest_difference(quantity, changed, base); !(most <= bound))
      found.push_back(quantity.text + " differs by " + short_of(most) + ", allowed " +
                      short_of(bound) + "; " + unequal(quantity, changed, base));
  for (const auto& [quantity, bound] : relation.apart)
    if (const double most = largest_difference(quantity, changed, base); !(most > bound))
      found.push_back(quantity.text + " differs by " + short_of(most) + ", not by more than " +
                      short_of(bound));
  for (const auto& [quantity, bound] : relation.near)
    if (const double most = largest_share(quantity, changed, base); !(most <= bound))
      found.push_back(quantity.text + " differs by " + short_of(most) +
                      " of the base's range, allowed " + short_of(bound));
  for (const auto& [quantity, range] : relation.between)
    if (const std::string why = outside(range, numbers_of(quantity, changed)); !why.empty())
      found.push_back(quantity.text + ": " + why);
  return found;
}

std::vector<Margin> margins(const Relation& relation, const Results& changed, const Results& base) {
  std::vector<Margin> all;
  for (const auto& [quantity, bound] : relation.within)
    all.push_back({"within " + quantity.text, largest_difference(quantity, changed, base) / bound});
  for (const auto& [quantity, bound] : relation.near)
    all.push_back({"near " + quantity.text, largest_share(quantity, changed, base) / bound});
  for (const auto& [quantity, bound] : relation.apart)
    all.push_back({"apart " + quantity.text, bound / largest_difference(quantity, changed, base)});
  return all;
}

}  // namespace trainx::equality
