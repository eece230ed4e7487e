// What each pass over a model's graph does; graph_pass.hpp has their names and their order.
#pragma once
#include "graph/passes/graph_pass.hpp"

namespace trainx::graph {

/// Cuts the block of each mixture into three, where ranks share its experts: the rows that tokens
/// send to ranks, the experts that a rank has, and the sum of what comes back to tokens.
void share_experts(Model& model, const GraphPassOptions& options);

/// Freezes the model but for what AdapterOptions name, and adds adapters to its linear layers. An
/// activation that such a layer has becomes an operation behind the adapter. Weights that the model
/// lacks are passed over: plans try shallower ones.
void add_adapters(Model& model, const GraphPassOptions& options);

/// Adds what AdapterOptions::embeddings name to what is looked up in these tables, and puts
/// AdapterOptions::token_rows in the place of rows of tables and heads. A block that looks up so is
/// kept for backward as a layer's.
void adapt_embeddings(Model& model, const GraphPassOptions& options);

/// Says what is trained of the model, and how (parameter_rules.hpp).
void choose_trained(Model& model, const GraphPassOptions& options);

/// A block's closing sum opens the next block, with the norm that follows it: what is added and
/// normed there belongs to that block's parameters.
void carry_sums(Model& model, const GraphPassOptions& options);

/// A sum and the norm of it become one operation.
void fuse_norms(Model& model, const GraphPassOptions& options);

/// A sum adds the bias of its branch, if that is the last thing that the branch's linear layer
/// does, or an adapter of it follows.
void fuse_bias(Model& model, const GraphPassOptions& options);

/// A residual that a norm leads to is kept as the sum before the norm, which its reader norms anew.
void keep_sums(Model& model, const GraphPassOptions& options);

/// A linear layer whose input is an activation of another's result differentiates that, too.
void fuse_activation(Model& model, const GraphPassOptions& options);

/// Attention by kernels for Hopper sums the gradient of its input's bias: kernels that write a
/// gradient sum it at less than those that read it again.
void sum_attention_bias(Model& model, const GraphPassOptions& options);

/// Gives the linear operations of Fp8Options::layers operands in fp8: their input is what a
/// Quantize operation makes of it, once for all that read it, and so it is what backward keeps.
/// Gradients still belong to the value that was quantized: rounding has the derivative of the
/// identity. Embedding and head stay as they are, and on a GPU layers of which a size does not fit
/// its kernels (gpu_multiplies_fp8), and those that the options leave out. Weights that are cast
/// before gathers form groups of their own, which stay the same whatever is left out; a block of
/// which something is left out casts in each use. So do weights that are cast once a run, if their
/// copies suffice. Follows the fusions: it takes activations over.
void quantize(Model& model, const GraphPassOptions& options);

/// The same where ranks have parts of layers: a part has a scale of its own, and its products are
/// those that the kernels take or not. Follows partition, which quantize leaves it to then.
void quantize_parts(Model& model, const GraphPassOptions& options);

/// An adapter multiplies by its linear layer's frozen weight, too, where the layer does nothing
/// else: a GPU then makes the sum of both by one kernel. Follows quantize: products in fp8 stay.
void fuse_adapters(Model& model, const GraphPassOptions& options);

/// A head whose weight is not trained computes fewer rows of logits at a time on a GPU. One that is
/// trained reads and writes all of its weight's gradient for each part of the rows, and stays.
void cut_frozen_head(Model& model, const GraphPassOptions& options);

/// Gives each of GraphPassOptions::tensor_ranks neighbours a part of each layer (Shoeybi et al.
/// 2019, arXiv:1909.08053) and the rows of its own tokens between layers (Korthikanti et al. 2022,
/// arXiv:2205.05198). A linear layer that reads rows of all has some of its outputs, one that reads
/// columns a share of their sum; heads and gates between them are cut alike. Follows the fusions: a
/// bias behind a sum is added once, to the rows that it belongs to.
void partition(Model& model, const GraphPassOptions& options);

/// Gives each of GraphPassOptions::context_ranks neighbours the same number of tokens of a
/// micro-batch, in their order, and all weights. Attention alone needs other tokens' rows: each
/// rank computes it for some heads and all tokens, which the ranks exchange before and after it
/// (Jacobs et al. 2023, arXiv:2309.14509). So documents, windows and biases of distances are what
/// they are on one rank, and all ranks have as much to do. Follows partition: what ranks with parts
/// of layers exchange is of fewer rows then, and the heads of each part are cut further.
void cut_rows(Model& model, const GraphPassOptions& options);

}  // namespace trainx::graph
