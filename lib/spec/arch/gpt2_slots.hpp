// What the operands of GPT-2's blocks are called: slots of each block, and tensors in each group.
// Shapes: N = micro_batch_size * length rows, C hidden_size, F intermediate_size, H heads of D
// elements, V vocab_size, Vp padded.
//
// `hidden` between blocks is (residual, pending branch and its bias): block k of the 2 * num_layers
// attention and MLP blocks begins with
//   residual<k> = residual<k-1> + dropout(branch<k-1> + bias of that branch)
// and leaves branch<k> without its bias, which lives in the group of the block that adds it. The
// first block finds residual0 complete. The gradient of value residual<k> is taken at the sum
// (residual<k> + dropout(branch<k> + bias)); without dropout it is the branch's gradient too, with
// dropout the branch has its own, masked.
#pragma once
#include "program/program.hpp"

namespace trainx::spec {

using program::Slot;

/// graph.batch, graph.scalars and the first groups.
// i32 [B, T], i32 [B, T] (-100: no target), i64 [B] in the endless stream; of packed rows i32 [B,
// T]
struct Gpt2Batch {
  enum : int { tokens, targets, positions, document_starts };
};
// f64 [1]; loss_scale: where losses are scaled (fp16, dp), f64 [2]
struct Gpt2Scalars {
  enum : int { loss_sum, target_count, loss_scale };
};
// then one per attention and MLP block, then the head's
struct Gpt2Groups {
  enum : int { wte, wpe, first_block };
};

/// > residual0 = dropout(wte[token] + wpe[position]); position: in the document
struct EmbeddingSlot {
  enum : Slot {
    tokens,
    positions,
    wte,
    wpe,
    residual_out,
    d_residual_out,
    d_wte,
    d_wpe,
    d_embedding,      // scratch [N, C]: masked gradient, with dropout only
    document_starts,  // of packed rows only
  };
};

/// LayerNorm and what it belongs to, at the same places in both blocks.
struct SublayerSlot {
  enum : Slot {
    positions,
    parameters,
    residual_out,  // written; in the first block read
    mean,
    rstd,    // saved f32 [N]
    normed,  // saved [N, C], cheap
    branch_out,
    // read; in the first block modified into the gradient of residual0 alone
    d_residual_out,
    d_branch_out,  // with dropout only
    d_parameters,
    d_normed,  // scratch [N, C]
    // scratch f32, 16-bit compute on a CPU only: operands of weight gradients
    cast,
    own,  // what follows is the block's own
  };
};

struct AttentionSlot : SublayerSlot {
  enum : Slot {
    qkv = own,      // saved [N, 3, H, D]
    attention_out,  // saved [N, H, D]
    // saved f32 [B, T, H]: log of the sum of exponentials of a row of scores
    lse,
    d_qkv,  // scratch [N, 3, H, D]
    residual_in,
    branch_in,
    d_residual_in,
    d_branch_in,      // not in the first block
    document_starts,  // of packed rows only
  };
};

struct MlpSlot : SublayerSlot {
  enum : Slot {
    preactivation = own,  // saved [N, F]
    activated,            // saved [N, F], cheap
    d_activated,          // scratch [N, F]
    residual_in,
    branch_in,
    d_residual_in,
    d_branch_in,
  };
};

/// Final norm, tied linear, cross-entropy; R rows at a time, so that full logits never exist.
struct HeadSlot {
  enum : Slot {
    residual_in,
    branch_in,
    positions,
    targets,
    wte,
    parameters,
    d_residual_in,
    d_branch_in,
    d_wte,
    d_parameters,
    loss_sum,
    target_count,
    loss_scale,  // where losses are scaled
    // value f32 [B, V]: predict's output, for the position targets[b, 0] of each sample
    logits,
    residual,
    mean,
    rstd,
    normed,        // scratch of R rows
    logits_chunk,  // scratch f32 [R, Vp]: logits, then their gradient
    row_loss,      // scratch f32 [R]
    d_normed,      // scratch [R, C]
    // scratch [R, Vp], bf16 compute only: logits as the product gives them, then their gradient
    // rounded
    logits_low,
    normed_cast,  // scratch f32 [R, C], bf16 compute only
  };
};

/// Tensors of the groups, by index: decayed ones first.
// the first has no pending_bias
struct AttentionTensor {
  enum : int { c_attn_weight, c_proj_weight, c_attn_bias, ln_weight, ln_bias, pending_bias };
};
struct MlpTensor {
  enum : int { c_fc_weight, c_proj_weight, c_fc_bias, ln_weight, ln_bias, pending_bias };
};
struct HeadTensor {
  enum : int { ln_weight, ln_bias, pending_bias };
};

}  // namespace trainx::spec
