// A model whichever architecture it is of: the lists' entries behind one set of names.
#pragma once
#include "spec/arch/options.hpp"

namespace trainx::spec {

std::string_view architecture_name(const ModelDims& dims);
std::int64_t vocab_size(const ModelDims& dims);
std::int64_t max_positions(const ModelDims& dims);

/// The blocks for a micro-batch of `micro_batch_size` samples of `length` tokens; `threads` of the library bound what it allocates.
program::ModelGraph model_graph(const ModelDims& dims, std::int64_t micro_batch_size, std::int64_t length, DType compute, std::int64_t threads);

/// config.json of a Hugging Face folder, by its model_type. Throws UserError 65 naming the key, 66 when there is none.
ModelDims dims_from_config(const std::string& text, const std::string& path);
ModelDims read_config(const std::string& folder);
/// What transformers loads; weights are saved in `saved` (torch_dtype).
std::string config_text(const ModelDims& dims, DType saved);

}  // namespace trainx::spec
