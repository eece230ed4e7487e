// A JSON Schema (draft 2020-12) of recipes, from the same visit_fields that read them: editors
// complete and check by it.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace trainx::recipe {

/// Which keys there are, of which types, words, units and ranges, with defaults and descriptions;
/// models that a worker described too. How a number is spelled (010), what values mean together and
/// whether files are there is the reader's alone: what reads well satisfies the schema, and not the
/// other way round. Of its keywords those that draft 7 lacks are left out, but for `$defs`: many
/// editors know no later draft.
nlohmann::ordered_json json_schema();

}  // namespace trainx::recipe
