#pragma once
#include "checkpoint/checkpoint.hpp"
#include "metrics/console.hpp"
#include "recipe/recipe.hpp"

namespace trainx::worker {

/// Where training begins.
struct Start {
  checkpoint::Found from;  // path empty: from the beginning
  bool own = false;        // a checkpoint of the run itself: it goes on
  // its optimizer states fit; else the weights alone are taken and the run begins at step 0
  bool with_states = true;
};

/// The newest valid checkpoint in `folder`, as checkpoint.resume says; without one, and
/// `fork_source` not empty, that of the run that is forked. Writes nothing. Throws UserError: 73
/// (never) or 83 (must, a fork of nothing, or checkpoints of which none can be read).
Start find_start(const std::string& folder, const std::string& fork_source,
                 const recipe::Recipe& recipe, metrics::Console& console);

}  // namespace trainx::worker
