// A model whichever architecture it is of: the lists' entries behind one set of names.
#pragma once
#include "graph/passes/graph_pass.hpp"
#include "architectures/dims.hpp"
#include "operations/attention/attention_spec.hpp"
#include <cstdint>

namespace trainx::architectures {

std::string_view architecture_name(const ModelDims& dims);
std::int64_t vocab_size(const ModelDims& dims);
std::int64_t max_positions(const ModelDims& dims);
Task task(const ModelDims& dims);
/// Whether it continues texts: it learns the next token from blocks that trainx knows.
bool generates(const ModelDims& dims);
/// Tokens of the longest text, with its prompt, that the model generates. LongRoPE has other
/// frequencies beyond its first context: a text ends there.
std::int64_t text_positions(const ModelDims& dims);
/// Of attention's probabilities, while training.
double attention_dropout(const ModelDims& dims);
/// Does its attention have one implementation, trainx's own loops, as where one of its operations
/// is not plain? model.attention has no choice there.
bool has_own_attention(const ModelDims& dims);
/// Elements of a head of attention; 0: of models that trainx knows nothing of.
std::int64_t head_size(const ModelDims& dims);
/// Of all layers, in their order, in rows of few tokens.
std::vector<operations::Attention> attention_of(const ModelDims& dims);
/// Have its layers windows of several widths?
bool mixes_windows(const ModelDims& dims);
/// Name of an operation of the model that GPUs have no kernel for; "": they have all.
std::string without_gpu_kernel(const ModelDims& dims);
/// As the model answers: without dropout, a document a row.
ModelDims for_evaluation(ModelDims dims);
std::int64_t num_labels(const ModelDims& dims);   // of tasks with labels: how many; else 0
ProblemType problem_type(const ModelDims& dims);  // of classification
/// Numbers of a sample's target; 0: it is no list of numbers.
std::int64_t label_values(const ModelDims& dims);
// segments that a token may belong to; 0: the model knows none
std::int64_t token_types(const ModelDims& dims);
// masked_lm: how targets are drawn where the data gives none
std::optional<Masking> masking(const ModelDims& dims);
// seq2seq: how the decoder's input follows from the targets
std::optional<TargetShift> target_shift(const ModelDims& dims);
/// Tokens that have targets, of rows of that many: seq2seq's are another text's.
std::int64_t target_length(const ModelDims& dims, std::int64_t length);
/// Targets of `samples` rows of `length` tokens without padding, as expected: what the loss
/// gradient is seeded with (1 / this); the true count is divided out.
double nominal_targets(const ModelDims& dims, std::int64_t samples, std::int64_t length);

/// The blocks for a micro-batch of `micro_batch_size` samples of `length` tokens; `graph_options`:
/// what computes them.
program::ModelGraph model_graph(const ModelDims& dims, std::int64_t micro_batch_size,
                                std::int64_t length, DType compute, GraphOptions graph_options);
/// Shows the same model before the first graph pass and after each.
void observe_graph_passes(const ModelDims& dims, std::int64_t micro_batch_size, std::int64_t length,
                          DType compute, const GraphOptions& graph_options,
                          const graph::GraphPassObserver& observer);

/// config.json of a Hugging Face folder, by its model_type. Throws UserError 65 naming the key, 66
/// when there is none.
ModelDims dims_from_config(const std::string& text, const std::string& path);
ModelDims read_config(const std::string& folder);
/// What the config.json `text` asks of dropout that `dims` do not train with, a sentence each.
std::vector<std::string> dropout_remarks(const std::string& text, const std::string& path,
                                         const ModelDims& dims);
/// What transformers loads; weights are saved in `saved` (torch_dtype).
std::string config_text(const ModelDims& dims, DType saved);
/// The parameter (ParameterSpec::name) that a tensor of a Hugging Face file is; empty for what such
/// files hold besides: constant buffers, copies of tied tensors, heads of other tasks.
std::string parameter_name(const ModelDims& dims, std::string_view saved_name);

/// Where a parameter or a module of that name (ParameterSpec::name, or what is before its last
/// dot) stands in transformers' class for the task: "transformer.h.0.attn.c_attn".
std::string module_path(const ModelDims& dims, const std::string& name);

}  // namespace trainx::architectures
