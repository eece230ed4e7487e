// Written by scripts/make_class_keys: do not edit.
#include "architectures/families/class_keys.hpp"

namespace trainx::architectures {

const std::vector<ClassKeys>& class_keys() {
  static const std::vector<ClassKeys> all{
      {"",
       "architectures chunk_size_feed_forward dtype id2label is_encoder_decoder label2id "
       "model_type output_attentions output_hidden_states problem_type return_dict torch_dtype "
       "transformers_version"},
      {"arcee",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings mlp_bias "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"bart",
       "activation_dropout +activation_function attention_dropout bos_token_id "
       "classifier_dropout +d_model +decoder_attention_heads +decoder_ffn_dim "
       "decoder_layerdrop +decoder_layers +decoder_start_token_id +dropout "
       "+encoder_attention_heads +encoder_ffn_dim encoder_layerdrop +encoder_layers "
       "+eos_token_id +forced_eos_token_id hidden_size +init_std is_decoder "
       "+max_position_embeddings num_attention_heads num_hidden_layers num_labels "
       "+pad_token_id scale_embedding +tie_word_embeddings +use_cache +vocab_size"},
      {"bert",
       "add_cross_attention +attention_probs_dropout_prob bos_token_id classifier_dropout "
       "eos_token_id +hidden_act +hidden_dropout_prob +hidden_size +initializer_range "
       "+intermediate_size is_decoder +layer_norm_eps +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers num_labels pad_token_id +tie_word_embeddings "
       "+type_vocab_size +use_cache +vocab_size"},
      {"bloom",
       "apply_residual_connection_post_layernorm attention_dropout +bos_token_id "
       "classifier_dropout +eos_token_id hidden_dropout +hidden_size +initializer_range "
       "+layer_norm_epsilon n_embed +n_head +n_layer num_attention_heads num_hidden_layers "
       "num_labels pad_token_id +pretraining_tp slow_but_exact +tie_word_embeddings +use_cache "
       "+vocab_size"},
      {"cohere",
       "attention_bias attention_dropout +bos_token_id +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_norm_eps +logit_scale "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor +rope_parameters rope_scaling rope_theta "
       "+tie_word_embeddings +use_cache use_qk_norm +vocab_size"},
      {"cohere2",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_norm_eps +layer_types "
       "+logit_scale +max_position_embeddings +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads pad_token_id partial_rotary_factor +rope_parameters rope_scaling "
       "rope_theta +sliding_window sliding_window_pattern +tie_word_embeddings +use_cache "
       "+vocab_size"},
      {"deepseek_v2",
       "attention_bias attention_dropout +bos_token_id +eos_token_id first_k_dense_replace "
       "+head_dim +hidden_act +hidden_size +initializer_range +intermediate_size +kv_lora_rank "
       "+max_position_embeddings mlp_bias +moe_intermediate_size n_group +n_routed_experts "
       "+n_shared_experts norm_topk_prob +num_attention_heads num_experts num_experts_per_tok "
       "+num_hidden_layers +num_key_value_heads output_router_logits pad_token_id "
       "partial_rotary_factor +pretraining_tp +q_lora_rank +qk_head_dim +qk_nope_head_dim "
       "+qk_rope_head_dim +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+routed_scaling_factor tie_word_embeddings topk_group +topk_method +use_cache "
       "+v_head_dim +vocab_size"},
      {"deepseek_v3",
       "attention_bias attention_dropout bos_token_id +eos_token_id +first_k_dense_replace "
       "+head_dim +hidden_act +hidden_size +initializer_range +intermediate_size +kv_lora_rank "
       "+max_position_embeddings +moe_intermediate_size +n_group +n_routed_experts "
       "+n_shared_experts +norm_topk_prob +num_attention_heads +num_experts_per_tok "
       "+num_hidden_layers +num_key_value_heads num_local_experts num_mtp_layers "
       "+num_nextn_predict_layers output_router_logits pad_token_id partial_rotary_factor "
       "+pretraining_tp +q_lora_rank +qk_head_dim +qk_nope_head_dim +qk_rope_head_dim "
       "+rms_norm_eps +rope_interleave +rope_parameters rope_scaling rope_theta "
       "+routed_scaling_factor tie_word_embeddings +topk_group +use_cache +v_head_dim "
       "+vocab_size"},
      {"distilbert",
       "+activation +attention_dropout bos_token_id +dim +dropout eos_token_id +hidden_dim "
       "hidden_size +initializer_range +max_position_embeddings +n_heads +n_layers "
       "num_attention_heads num_hidden_layers num_labels pad_token_id +qa_dropout "
       "+seq_classif_dropout sinusoidal_pos_embds +tie_word_embeddings +vocab_size"},
      {"dots1",
       "attention_bias attention_dropout bos_token_id eos_token_id first_k_dense_replace "
       "head_dim +hidden_act +hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings +max_window_layers +moe_intermediate_size +n_group "
       "n_routed_experts n_shared_experts norm_topk_prob +num_attention_heads "
       "num_experts_per_tok +num_hidden_layers +num_key_value_heads num_local_experts "
       "output_router_logits pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters "
       "rope_scaling rope_theta +routed_scaling_factor +sliding_window tie_word_embeddings "
       "+topk_group +use_cache +vocab_size"},
      {"electra",
       "add_cross_attention +attention_probs_dropout_prob bos_token_id classifier_dropout "
       "+embedding_size eos_token_id +hidden_act +hidden_dropout_prob +hidden_size "
       "+initializer_range +intermediate_size is_decoder +layer_norm_eps "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers num_labels "
       "pad_token_id +summary_activation summary_first_dropout +summary_last_dropout "
       "summary_proj_to_labels +summary_type +summary_use_proj +tie_word_embeddings "
       "+type_vocab_size +use_cache +vocab_size"},
      {"ernie4_5",
       "+bos_token_id +eos_token_id +head_dim +hidden_act +hidden_size +initializer_range "
       "+intermediate_size +max_position_embeddings +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters "
       "rope_scaling rope_theta +tie_word_embeddings use_bias +use_cache +vocab_size"},
      {"exaone4",
       "attention_dropout bos_token_id +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +layer_types +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+sliding_window +sliding_window_pattern tie_word_embeddings +use_cache +vocab_size"},
      {"gemma",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+tie_word_embeddings use_bidirectional_attention +use_cache +vocab_size"},
      {"gemma2",
       "attention_bias attention_dropout +attn_logit_softcapping +bos_token_id +eos_token_id "
       "+final_logit_softcapping +head_dim +hidden_activation +hidden_size +initializer_range "
       "+intermediate_size +layer_types +max_position_embeddings +num_attention_heads "
       "+num_hidden_layers +num_key_value_heads pad_token_id partial_rotary_factor "
       "+query_pre_attn_scalar +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+sliding_window +tie_word_embeddings use_bidirectional_attention +use_cache "
       "+vocab_size"},
      {"gemma3_text",
       "attention_bias attention_dropout attn_logit_softcapping +bos_token_id +eos_token_id "
       "final_logit_softcapping +head_dim +hidden_activation +hidden_size image_token_id "
       "+initializer_range +intermediate_size +layer_types +max_position_embeddings "
       "mm_tokens_per_image +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "or_mask_function pad_token_id partial_rotary_factor +query_pre_attn_scalar "
       "+rms_norm_eps rope_local_base_freq +rope_parameters rope_scaling rope_theta "
       "+sliding_window sliding_window_pattern text_config +tie_word_embeddings token_type_ids "
       "use_bidirectional_attention +use_cache vision_config +vocab_size"},
      {"glm",
       "+attention_bias attention_dropout bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads +pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"glm4",
       "+attention_bias attention_dropout bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads +pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"glm4_moe",
       "attention_bias attention_dropout bos_token_id eos_token_id +first_k_dense_replace "
       "head_dim +hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings +moe_intermediate_size +n_group +n_routed_experts "
       "+n_shared_experts +norm_topk_prob +num_attention_heads +num_experts_per_tok "
       "+num_hidden_layers +num_key_value_heads num_local_experts num_mtp_layers "
       "+num_nextn_predict_layers output_router_logits pad_token_id partial_rotary_factor "
       "+rms_norm_eps +rope_parameters rope_scaling rope_theta +routed_scaling_factor "
       "tie_word_embeddings +topk_group +use_cache use_qk_norm +vocab_size"},
      {"gpt2",
       "+activation_function add_cross_attention +attn_pdrop +bos_token_id classifier_dropout "
       "+embd_pdrop +eos_token_id hidden_dropout hidden_size +initializer_range "
       "+layer_norm_epsilon max_position_embeddings +n_embd +n_head n_inner +n_layer "
       "+n_positions num_attention_heads num_hidden_layers num_labels pad_token_id "
       "reorder_and_upcast_attn +resid_pdrop scale_attn_by_inverse_layer_idx "
       "+scale_attn_weights summary_activation +summary_first_dropout summary_last_dropout "
       "+summary_proj_to_labels +summary_type +summary_use_proj +tie_word_embeddings "
       "+use_cache +vocab_size"},
      {"gpt_neox",
       "+attention_bias attention_dropout bos_token_id +classifier_dropout +eos_token_id "
       "head_dim +hidden_act hidden_dropout +hidden_size +initializer_range +intermediate_size "
       "is_decoder +layer_norm_eps +max_position_embeddings +num_attention_heads "
       "+num_hidden_layers num_labels pad_token_id partial_rotary_factor +rope_parameters "
       "rope_scaling rope_theta rotary_emb_base rotary_pct tie_word_embeddings +use_cache "
       "+use_parallel_residual +vocab_size"},
      {"gpt_oss",
       "+attention_bias attention_dropout bos_token_id eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings +num_attention_heads num_experts +num_experts_per_tok "
       "+num_hidden_layers +num_key_value_heads +num_local_experts output_router_logits "
       "pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta +router_aux_loss_coef +sliding_window +swiglu_alpha +swiglu_limit "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"granite",
       "attention_bias attention_dropout +attention_multiplier +bos_token_id "
       "+embedding_multiplier +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +logits_scaling +max_position_embeddings "
       "mlp_bias +num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +residual_multiplier +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta tie_word_embeddings +use_cache +vocab_size"},
      {"granite_swa",
       "attention_bias attention_dropout +attention_multiplier +bos_token_id "
       "+embedding_multiplier +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +layer_rope_theta +layer_types +logits_scaling "
       "+max_position_embeddings mlp_bias +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads pad_token_id partial_rotary_factor +residual_multiplier "
       "+rms_norm_eps +rope_parameters rope_scaling rope_theta +sliding_window "
       "+tie_word_embeddings +use_cache +vocab_size"},
      {"granitemoe",
       "attention_bias attention_dropout +attention_multiplier +bos_token_id "
       "+embedding_multiplier +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +logits_scaling +max_position_embeddings "
       "+num_attention_heads +num_experts_per_tok +num_hidden_layers +num_key_value_heads "
       "+num_local_experts output_router_logits pad_token_id partial_rotary_factor "
       "+residual_multiplier +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+router_aux_loss_coef tie_word_embeddings +use_cache +vocab_size"},
      {"helium",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings mlp_bias "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads +pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"hunyuan_v1_dense",
       "attention_bias attention_dropout +bos_token_id +eod_token_id +eos_token_id head_dim "
       "+hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor +pretraining_tp +rms_norm_eps +rope_parameters "
       "rope_scaling rope_theta tie_word_embeddings +use_cache +vocab_size"},
      {"llama",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings mlp_bias "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +pretraining_tp +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta tie_word_embeddings +use_cache +vocab_size"},
      {"mbart",
       "activation_dropout +activation_function attention_dropout bos_token_id "
       "classifier_dropout +d_model +decoder_attention_heads +decoder_ffn_dim "
       "decoder_layerdrop +decoder_layers decoder_start_token_id +dropout "
       "+encoder_attention_heads +encoder_ffn_dim encoder_layerdrop +encoder_layers "
       "+eos_token_id +forced_eos_token_id gradient_checkpointing hidden_size +init_std "
       "is_decoder +max_position_embeddings num_attention_heads num_hidden_layers num_labels "
       "+pad_token_id scale_embedding +tie_word_embeddings +use_cache +vocab_size"},
      {"minicpm3",
       "attention_bias attention_dropout +bos_token_id +dim_model_base +eos_token_id +head_dim "
       "+hidden_act +hidden_size +initializer_range +intermediate_size +kv_lora_rank "
       "logits_scaling +max_position_embeddings mlp_bias +num_attention_heads "
       "+num_hidden_layers +num_key_value_heads pad_token_id partial_rotary_factor "
       "+pretraining_tp +q_lora_rank +qk_head_dim +qk_nope_head_dim +qk_rope_head_dim "
       "+rms_norm_eps +rope_parameters rope_scaling rope_theta +scale_depth +scale_emb "
       "+tie_word_embeddings +use_cache +v_head_dim +vocab_size"},
      {"ministral",
       "attention_dropout +bos_token_id +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +layer_types +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+sliding_window tie_word_embeddings +use_cache +vocab_size"},
      {"mistral",
       "attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size layer_types +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+sliding_window tie_word_embeddings +use_cache +vocab_size"},
      {"mixtral",
       "attention_dropout +bos_token_id +eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +max_position_embeddings +num_attention_heads "
       "num_experts +num_experts_per_tok +num_hidden_layers +num_key_value_heads "
       "+num_local_experts output_router_logits pad_token_id partial_rotary_factor "
       "+rms_norm_eps +rope_parameters rope_scaling rope_theta +router_aux_loss_coef "
       "router_jitter_noise sliding_window tie_word_embeddings +use_cache +vocab_size"},
      {"modernbert",
       "attention_bias attention_dropout +bos_token_id +classifier_activation classifier_bias "
       "classifier_dropout +classifier_pooling +cls_token_id +decoder_bias "
       "deterministic_flash_attn embedding_dropout +eos_token_id global_attn_every_n_layers "
       "global_rope_theta head_dim +hidden_activation +hidden_size +initializer_cutoff_factor "
       "+initializer_range +intermediate_size +layer_types +local_attention local_rope_theta "
       "+max_position_embeddings mlp_bias mlp_dropout norm_bias +norm_eps +num_attention_heads "
       "+num_hidden_layers num_labels +pad_token_id partial_rotary_factor +rope_parameters "
       "rope_scaling rope_theta +sep_token_id sliding_window +sparse_pred_ignore_index "
       "sparse_prediction +tie_word_embeddings +vocab_size"},
      {"nanochat",
       "attention_bias attention_dropout bos_token_id +eos_token_id +final_logit_softcapping "
       "head_dim +hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "+pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta tie_word_embeddings +use_cache +vocab_size"},
      {"nemotron",
       "attention_bias attention_dropout +bos_token_id +eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings mlp_bias "
       "+norm_eps +num_attention_heads +num_hidden_layers num_key_value_heads pad_token_id "
       "partial_rotary_factor +rope_parameters rope_scaling rope_theta tie_word_embeddings "
       "+use_cache +vocab_size"},
      {"olmo",
       "attention_bias attention_dropout bos_token_id clip_qkv +eos_token_id head_dim "
       "+hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "+pad_token_id partial_rotary_factor +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"olmo2",
       "attention_bias attention_dropout bos_token_id +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads +pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"olmo3",
       "attention_bias attention_dropout bos_token_id +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "+pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta +sliding_window tie_word_embeddings +use_cache +vocab_size"},
      {"olmoe",
       "attention_bias attention_dropout bos_token_id clip_qkv +eos_token_id head_dim "
       "+hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings norm_topk_prob +num_attention_heads +num_experts "
       "+num_experts_per_tok +num_hidden_layers +num_key_value_heads num_local_experts "
       "output_router_logits +pad_token_id partial_rotary_factor +rms_norm_eps "
       "+rope_parameters rope_scaling rope_theta +router_aux_loss_coef sliding_window "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"opt",
       "+activation_function attention_dropout +bos_token_id +do_layer_norm_before +dropout "
       "+enable_bias +eos_token_id +ffn_dim +hidden_size +init_std "
       "+layer_norm_elementwise_affine layerdrop +max_position_embeddings +num_attention_heads "
       "+num_hidden_layers num_labels +pad_token_id +tie_word_embeddings +use_cache "
       "+vocab_size +word_embed_proj_dim"},
      {"phi",
       "attention_dropout +bos_token_id embd_pdrop +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_norm_eps "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor qk_layernorm resid_pdrop +rope_parameters "
       "rope_scaling rope_theta tie_word_embeddings +use_cache +vocab_size"},
      {"phi3",
       "attention_dropout +bos_token_id embd_pdrop +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "next_sequence_length +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "+original_max_position_embeddings +pad_token_id partial_rotary_factor resid_pdrop "
       "+rms_norm_eps +rope_parameters rope_scaling rope_theta sliding_window "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"qwen2",
       "attention_dropout bos_token_id eos_token_id head_dim +hidden_act +hidden_size "
       "+initializer_range +intermediate_size +layer_types +max_position_embeddings "
       "+max_window_layers +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling "
       "rope_theta sliding_window tie_word_embeddings +use_cache use_sliding_window "
       "+vocab_size"},
      {"qwen2_moe",
       "attention_dropout bos_token_id +decoder_sparse_step eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings +max_window_layers +mlp_only_layers +moe_intermediate_size "
       "norm_topk_prob +num_attention_heads +num_experts +num_experts_per_tok "
       "+num_hidden_layers +num_key_value_heads output_router_logits pad_token_id "
       "partial_rotary_factor +qkv_bias +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+router_aux_loss_coef +shared_expert_intermediate_size sliding_window "
       "tie_word_embeddings +use_cache use_sliding_window +vocab_size"},
      {"qwen3",
       "attention_bias attention_dropout bos_token_id eos_token_id +head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings +max_window_layers +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads pad_token_id partial_rotary_factor +rms_norm_eps +rope_parameters "
       "rope_scaling rope_theta sliding_window tie_word_embeddings +use_cache "
       "use_sliding_window +vocab_size"},
      {"qwen3_moe",
       "attention_bias attention_dropout bos_token_id +decoder_sparse_step eos_token_id "
       "head_dim +hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings +mlp_only_layers +moe_intermediate_size norm_topk_prob "
       "+num_attention_heads num_experts +num_experts_per_tok +num_hidden_layers "
       "+num_key_value_heads +num_local_experts output_router_logits pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "+router_aux_loss_coef sliding_window tie_word_embeddings +use_cache use_sliding_window "
       "+vocab_size"},
      {"roberta",
       "add_cross_attention +attention_probs_dropout_prob bos_token_id classifier_dropout "
       "+eos_token_id +hidden_act +hidden_dropout_prob +hidden_size +initializer_range "
       "+intermediate_size is_decoder +layer_norm_eps +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers num_labels +pad_token_id +tie_word_embeddings "
       "+type_vocab_size +use_cache +vocab_size"},
      {"seed_oss",
       "+attention_bias +attention_dropout attention_out_bias bos_token_id +eos_token_id "
       "+head_dim +hidden_act +hidden_size +initializer_range +intermediate_size "
       "+max_position_embeddings mlp_bias +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads +pad_token_id partial_rotary_factor +pretraining_tp "
       "+residual_dropout +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "tie_word_embeddings +use_cache +vocab_size"},
      {"smollm3",
       "attention_bias attention_dropout +bos_token_id +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +layer_types "
       "+max_position_embeddings mlp_bias +no_rope_layer_interval +no_rope_layers "
       "+num_attention_heads +num_hidden_layers +num_key_value_heads +pad_token_id "
       "partial_rotary_factor +rms_norm_eps +rope_parameters rope_scaling rope_theta "
       "sliding_window +tie_word_embeddings +use_cache use_sliding_window +vocab_size"},
      {"stablelm",
       "attention_dropout bos_token_id eos_token_id head_dim +hidden_act hidden_dropout "
       "+hidden_size +initializer_range +intermediate_size +layer_norm_eps "
       "+max_position_embeddings +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor qk_layernorm +rope_parameters rope_scaling "
       "rope_theta tie_word_embeddings +use_cache use_parallel_residual use_qkv_bias "
       "+vocab_size"},
      {"starcoder2",
       "attention_dropout +bos_token_id embedding_dropout +eos_token_id head_dim +hidden_act "
       "+hidden_size +initializer_range +intermediate_size +max_position_embeddings "
       "+norm_epsilon +num_attention_heads +num_hidden_layers +num_key_value_heads "
       "pad_token_id partial_rotary_factor residual_dropout +rope_parameters rope_scaling "
       "rope_theta sliding_window +tie_word_embeddings +use_bias +use_cache +vocab_size"},
      {"t5",
       "classifier_dropout +d_ff +d_kv +d_model decoder_start_token_id +dense_act_fn "
       "+dropout_rate +eos_token_id +feed_forward_proj head_dim hidden_size "
       "+initializer_factor is_decoder is_gated_act +layer_norm_epsilon num_attention_heads "
       "+num_decoder_layers +num_heads num_hidden_layers num_labels +num_layers pad_token_id "
       "+relative_attention_max_distance +relative_attention_num_buckets "
       "+scale_decoder_outputs +tie_word_embeddings +use_cache +vocab_size"},
      {"xlm-roberta",
       "add_cross_attention +attention_probs_dropout_prob bos_token_id classifier_dropout "
       "+eos_token_id +hidden_act +hidden_dropout_prob +hidden_size +initializer_range "
       "+intermediate_size is_decoder +layer_norm_eps +max_position_embeddings "
       "+num_attention_heads +num_hidden_layers num_labels +pad_token_id +tie_word_embeddings "
       "+type_vocab_size +use_cache +vocab_size"},
      {"youtu",
       "attention_bias attention_dropout +bos_token_id +embedding_initializer_range "
       "+eos_token_id +head_dim +hidden_act +hidden_size +initializer_range +intermediate_size "
       "+kv_lora_rank +max_position_embeddings +num_attention_heads +num_hidden_layers "
       "+num_key_value_heads pad_token_id partial_rotary_factor +q_lora_rank +qk_head_dim "
       "+qk_nope_head_dim +qk_rope_head_dim +rms_norm_eps +rope_interleave +rope_parameters "
       "rope_scaling rope_theta +tie_word_embeddings +use_cache +v_head_dim +vocab_size"},
  };
  return all;
}

}  // namespace trainx::architectures
