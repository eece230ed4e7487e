// What the operands of BERT's blocks are called: slots of each block, and tensors in each group.
// Shapes: N = micro_batch_size * length rows, C hidden_size, F intermediate_size, H heads of D
// elements, V vocab_size, Vp padded, L num_labels.
//
// The norm follows the sum. Between blocks `hidden` is (sum before its norm, pending branch and its
// bias): block k of the 2 * num_layers attention and MLP blocks begins with
//   residual<k> = norm<k-1>(residual<k-1>) + dropout(branch<k-1> + bias of that branch), normed<k>
//   = norm<k>(residual<k>)
// and leaves branch<k> without its bias. norm<k> and that bias live in the group of block k, the
// head's in the head's group. So norm<k>'s result is kept by block k alone, which can drop it, and
// the block after makes it anew row by row while it adds. residual0, the embedding's result, needs
// no norm. The gradient of value residual<k> is taken at norm<k>'s result, as far as it comes from
// the block after; without dropout it is the branch's gradient too, with dropout the branch has its
// own, masked. Rows past a sample's length hold numbers that nothing else depends on, and their
// gradients are zero.
#pragma once
#include "program/program.hpp"

namespace trainx::spec::bert {

using program::Slot;

/// graph.batch (labels: classification only), graph.scalars and the first groups.
// i32 [B, T] or [B]; positions i64 [B]; -100 is no target
struct Batch {
  enum : int { tokens, targets, positions, token_types, lengths, labels };
};
// f64 [1]; score: of evaluate, confusion [L, L] or correct [1]; loss_scale: where losses are scaled
// (fp16, dp), [2]
struct Scalars {
  enum : int { loss_sum, target_count, score, loss_scale };
};
// then one per attention and MLP block, then the head's
struct Groups {
  enum : int { word, embedding, first_block };
};

/// > residual0 = dropout(norm(word[token] + position[t] + type[token_type]))
struct EmbeddingSlot {
  enum : Slot {
    tokens,
    token_types,
    positions,
    word,
    parameters,
    residual_out,
    d_residual_out,
    d_word,
    d_parameters,
    // scratch: the sum before its norm [N, C] made anew, its statistics f32 [N], its gradient [N,
    // C]
    sum,
    mean,
    rstd,
    d_sum,
  };
};

/// The sum, its norm and what belongs to it, at the same places in both blocks.
struct SublayerSlot {
  enum : Slot {
    positions,
    parameters,
    norm_parameters,  // the group of norm<k-1>; not in the first two blocks
    residual_out,     // written; in the first block read
    mean,
    rstd,    // saved f32 [N]; not in the first block, as normed
    normed,  // saved [N, C], cheap
    branch_out,
    // read; in the first block modified into the whole gradient of residual0
    d_residual_out,
    d_branch_out,  // with dropout only
    d_parameters,
    // scratch [N, C]: gradient of the branch's input, the residual's part added
    d_normed,
    // scratch f32, 16 bits on a CPU only: operands of weight gradients
    cast,
    residual_in,
    branch_in,
    d_residual_in,
    d_branch_in,  // not in the first block
    own,          // what follows is the block's own
  };
};

struct AttentionSlot : SublayerSlot {
  enum : Slot {
    lengths = own,
    qkv,            // saved [N, 3, H, D]
    attention_out,  // saved [N, H, D]
    // saved f32 [B, T, H]: log of the sum of exponentials of a row of scores
    lse,
    d_qkv,  // scratch [N, 3, H, D]
  };
};

struct MlpSlot : SublayerSlot {
  enum : Slot {
    preactivation = own,  // saved [N, F]
    activated,            // saved [N, F], cheap
    d_activated,          // scratch [N, F]
  };
};

/// The last sum and its norm on the R rows that a head looks at, and what both heads have.
struct HeadSlot {
  enum : Slot {
    residual_in,
    branch_in,
    positions,
    targets,
    parameters,
    norm_parameters,
    d_residual_in,
    d_branch_in,
    d_parameters,
    loss_sum,
    target_count,
    score,
    loss_scale,  // where losses are scaled
    logits,      // value f32: predict's output
    rows,        // scratch i64: which rows of the micro-batch are looked at
    residual,
    mean,
    rstd,
    normed,       // scratch of R rows: hidden states are `normed`
    row_loss,     // scratch f32 [R]
    predictions,  // scratch i32 [R]: of evaluate, the most probable classes
    // scratch [R, L] or [R, Vp], f32 on a CPU: logits, then their gradient
    logits_chunk,
    // scratch, 16 bits on a CPU only: logits as the product gives them, then their gradient rounded
    logits_low,
    d_normed,
    d_residual,  // scratch [R, C]; d_normed serves earlier gradients too
    // scratch f32, 16 bits on a CPU only: operands of weight gradients
    cast,
    own,
  };
};

/// Pooler on token 0 (dense, tanh), dropout, linear, cross-entropy with `targets` = labels i32 [B].
struct ClassifierSlot : HeadSlot {
  enum : Slot {
    pooled = own,  // scratch [B, C]
    dropped,       // scratch [B, C], with dropout only
  };
};

/// Dense, GELU, norm, tied linear with a bias, cross-entropy on rows that have a target alone; R
/// rows at a time, so that full logits never exist.
struct MaskedLmSlot : HeadSlot {
  enum : Slot {
    word = own,
    d_word,
    row_targets,  // scratch i32 [N]: of the rows that have one
    preactivation,
    activated,  // scratch [R, C]
    transformed_mean,
    transformed_rstd,  // scratch f32 [R]
    transformed,       // scratch [R, C]
  };
};

/// Tensors of the groups, by index: decayed ones first. The first block has no norm and no pending
/// bias.
struct EmbeddingTensor {
  enum : int { position, token_type, norm_weight, norm_bias };
};
struct AttentionTensor {
  enum : int {
    query_weight,
    key_weight,
    value_weight,
    output_weight,
    query_bias,
    key_bias,
    value_bias,
    norm_weight,
    norm_bias,
    pending_bias
  };
};
struct MlpTensor {
  enum : int {
    intermediate_weight,
    output_weight,
    intermediate_bias,
    norm_weight,
    norm_bias,
    pending_bias
  };
};
struct ClassifierTensor {
  enum : int {
    pooler_weight,
    classifier_weight,
    pooler_bias,
    classifier_bias,
    norm_weight,
    norm_bias,
    pending_bias
  };
};
struct MaskedLmTensor {
  enum : int {
    dense_weight,
    dense_bias,
    transform_norm_weight,
    transform_norm_bias,
    decoder_bias,
    norm_weight,
    norm_bias,
    pending_bias
  };
};

}  // namespace trainx::spec::bert
