// Programs written by hand: the ways of training that the representation has to carry.
#pragma once
#include "support/toy/prove.hpp"
#include "support/toy/text.hpp"
#include <cstdint>

namespace toy {

/// (a) two micro-steps, full activation checkpointing, gradients reduced over ranks beside the rest
/// of backward, tied embeddings.
inline const char* const text_a = R"(
m0 fetch_batch                      step              > x target
m0 forward     embed                x w.tied          > h0
m0 forward     b1                   h0 w.b1           > h1
m0 loss        head                 h1 w.tied target  > dh1 = g.tied loss_sum target_count
m0 recompute   b1                   h0 w.b1           > b1.u b1.z
m0 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 = g.b1
m0 backward    embed                x dh0             > + g.tied
m1 fetch_batch                      step              > x target
m1 forward     embed                x w.tied          > h0
m1 forward     b1                   h0 w.b1           > h1
m1 loss        head                 h1 w.tied target  > dh1 + g.tied + loss_sum + target_count
m1 recompute   b1                   h0 w.b1           > b1.u b1.z
m1 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 + g.b1
   reduce            @communication                   > ~ g.b1
m1 backward    embed                x dh0             > + g.tied
   reduce            @communication                   > ~ g.tied
   advance_step                                       > ~ step
   grad_norm                        g.tied g.b1       > norm2
   reduce            @communication                   > ~ loss_sum ~ target_count
   update      tied                 g.tied norm2 target_count applied lr_table > ~ m.tied ~ w.tied
   update      b1                   g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1
   advance_applied                  norm2             > ~ applied
   report                           loss_sum target_count norm2 applied lr_table
)";

/// (b) ZeRO-3: parameters, states and gradients in shards; each use gathered one ahead into a
/// short-lived buffer, recomputation.
inline const char* const text_b = R"(
m0 fetch_batch                      step              > x target
m0 gather            @communication w.tied/           > w.tied
m0 gather            @communication w.b1/             > w.b1
m0 forward     embed                x w.tied          > h0
m0 gather            @communication w.b2/             > w.b2
m0 forward     b1                   h0 w.b1           > h1
m0 gather            @communication w.tied/           > w.tied^
m0 forward     b2                   h1 w.b2           > h2
m0 gather            @communication w.b2/             > w.b2^
m0 loss        head                 h2 w.tied^ target > dh2 = g.tied loss_sum target_count
m0 gather            @communication w.b1/             > w.b1^
m0 recompute   b2                   h1 w.b2^          > b2.u b2.z
m0 backward    b2                   b2.u b2.z dh2 w.b2^ > dh1 = g.b2
m0 scatter           @communication g.b2              > = g.b2/
m0 recompute   b1                   h0 w.b1^          > b1.u b1.z
m0 backward    b1                   b1.u b1.z dh1 w.b1^ > dh0 = g.b1
m0 scatter           @communication g.b1              > = g.b1/
m0 backward    embed                x dh0             > + g.tied
m0 scatter           @communication g.tied            > = g.tied/
   advance_step                                       > ~ step
   grad_norm                        g.tied/ g.b1/ g.b2/ > norm2
   reduce            @communication                   > ~ norm2 ~ loss_sum ~ target_count
   update      tied                 g.tied/ norm2 target_count applied lr_table > ~ m.tied/ ~ w.tied/
   update      b1                   g.b1/ norm2 target_count applied lr_table > ~ m.b1/ ~ w.b1/
   update      b2                   g.b2/ norm2 target_count applied lr_table > ~ m.b2/ ~ w.b2/
   advance_applied                  norm2             > ~ applied
   report                           loss_sum target_count norm2 applied lr_table
)";

/// (c) states and exact weights on the host; the update, clipped by the global norm, runs there,
/// beside the next step's beginning.
inline const char* const text_c = R"(
m0 fetch_batch                      step              > x target
m0 forward     embed                x w.tied          > h0
m0 forward     b1                   h0 w.b1           > h1 b1.u b1.z
m0 loss        head                 h1 w.tied target  > dh1 = g.tied loss_sum target_count
m0 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 = g.b1
   copy              @copy_out      g.b1              > = g.b1'
m0 backward    embed                x dh0             > + g.tied
   copy              @copy_out      g.tied            > = g.tied'
   advance_step                                       > ~ step
   grad_norm                        g.tied g.b1       > norm2
   copy              @copy_out      norm2             > norm2'
   copy              @copy_out      target_count      > target_count'
   copy              @copy_out      loss_sum          > loss_sum'
   update      tied  @host          g.tied' norm2' target_count' applied lr_table > ~ m.tied' ~ w.tied'
   copy              @copy_in       w.tied'           > w.tied
   update      b1    @host          g.b1' norm2' target_count' applied lr_table > ~ m.b1' ~ w.b1'
   copy              @copy_in       w.b1'             > w.b1
   advance_applied   @host          norm2'            > ~ applied
   report            @host          loss_sum' target_count' norm2' applied lr_table
)";

/// (d) a loss scale that lives from step to step; all ranks skip a step of which the summed
/// gradients are not finite.
inline const char* const text_d = R"(
m0 fetch_batch                      step              > x target
m0 forward     embed                x w.embed         > h0
m0 forward     b1                   h0 w.b1           > h1 b1.u b1.z
m0 loss        head                 h1 w.head target loss_scale > dh1 = g.head loss_sum target_count
   reduce            @communication                   > ~ g.head
m0 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 = g.b1
   reduce            @communication                   > ~ g.b1
m0 backward    embed                x dh0             > = g.embed
   reduce            @communication                   > ~ g.embed
   advance_step                                       > ~ step
   grad_norm                        g.embed g.b1 g.head > norm2
   reduce            @communication                   > ~ loss_sum ~ target_count
   update      embed                g.embed norm2 target_count applied lr_table loss_scale > ~ m.embed ~ w.embed
   update      b1                   g.b1 norm2 target_count applied lr_table loss_scale > ~ m.b1 ~ w.b1
   update      head                 g.head norm2 target_count applied lr_table loss_scale > ~ m.head ~ w.head
   advance_applied                  norm2             > ~ applied
   report                           loss_sum target_count norm2 applied lr_table loss_scale
   advance_applied                  norm2             > ~ loss_scale
)";

/// (e) each update inside backward, one block after its reduce: gradients die early, and no norm of
/// all of them exists.
inline const char* const text_e = R"(
m0 fetch_batch                      step              > x target
m0 forward     embed                x w.embed         > h0
m0 forward     b1                   h0 w.b1           > h1 b1.u b1.z
m0 forward     b2                   h1 w.b2           > h2 b2.u b2.z
m0 loss        head                 h2 w.head target  > dh2 = g.head loss_sum target_count
   reduce            @communication                   > ~ loss_sum ~ target_count
   reduce            @communication                   > ~ g.head
m0 backward    b2                   b2.u b2.z dh2 w.b2 > dh1 = g.b2
   reduce            @communication                   > ~ g.b2
   update      head                 g.head target_count applied lr_table > ~ m.head ~ w.head
m0 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 = g.b1
   reduce            @communication                   > ~ g.b1
   update      b2                   g.b2 target_count applied lr_table > ~ m.b2 ~ w.b2
m0 backward    embed                x dh0             > = g.embed
   reduce            @communication                   > ~ g.embed
   update      b1                   g.b1 target_count applied lr_table > ~ m.b1 ~ w.b1
   update      embed                g.embed target_count applied lr_table > ~ m.embed ~ w.embed
   advance_step                                       > ~ step
   advance_applied                                    > ~ applied
   report                           loss_sum target_count applied lr_table
)";

/// (f) single-owner data parallelism: batch out, parameters out, outputs in, output gradients out,
/// gradients in. Rank 0 owns everything.
inline const char* const text_f0 = R"(
m0 fetch_batch                           step               > x target
m0 fetch_batch(1)                        step               > x(1) target(1)
m0 send(1)                @communication x(1)
m0 send(1)                @communication w.embed
m0 send(1)                @communication w.b1
m0 forward      embed                    x w.embed          > h0
m0 forward      b1                       h0 w.b1            > y b1.u b1.z
m0 recv(1)                @communication                    > y(1)
m0 loss         criterion                y target           > dy loss_sum target_count
m0 loss         criterion                y(1) target(1)     > dy(1) + loss_sum + target_count
m0 send(1)                @communication dy(1)
m0 backward     b1                       b1.u b1.z dy w.b1  > dh0 = g.b1
m0 recv(1)                @communication                    > = g.b1(1)
   copy                                  g.b1(1)            > + g.b1
m0 backward     embed                    x dh0              > = g.embed
m0 recv(1)                @communication                    > = g.embed(1)
   copy                                  g.embed(1)         > + g.embed
   advance_step                                             > ~ step
   grad_norm                             g.embed g.b1       > norm2
   update       embed                    g.embed norm2 target_count applied lr_table > ~ m.embed ~ w.embed
   update       b1                       g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1
   advance_applied                       norm2              > ~ applied
   report                                loss_sum target_count norm2 applied lr_table
)";
inline const char* const text_f1 = R"(
m0 recv(0)           @communication                   > x
m0 recv(0)           @communication                   > w.embed
m0 recv(0)           @communication                   > w.b1
m0 forward     embed                x w.embed         > h0
m0 forward     b1                   h0 w.b1           > y b1.u b1.z
m0 send(0)           @communication y
m0 recv(0)           @communication                   > dy
m0 backward    b1                   b1.u b1.z dy w.b1 > dh0 = g.b1
m0 send(0)           @communication g.b1
m0 backward    embed                x dh0             > = g.embed
m0 send(0)           @communication g.embed
)";

/// (g) every block of a decoder reads the encoder's value, whose gradient they add up; recomputed
/// from it.
inline const char* const text_g = R"(
m0 fetch_batch                      step              > x target
m0 forward     encoder              x w.encoder       > memory
m0 forward     embed                x w.embed         > h0
m0 forward     b1                   h0 w.b1 memory    > h1
m0 forward     b2                   h1 w.b2 memory    > h2
m0 loss        head                 h2 w.head target  > dh2 = g.head loss_sum target_count
m0 recompute   b2                   h1 w.b2 memory    > b2.u b2.z
m0 backward    b2                   memory b2.u b2.z dh2 w.b2 > dh1 dmemory = g.b2
m0 recompute   b1                   h0 w.b1 memory    > b1.u b1.z
m0 backward    b1                   memory b1.u b1.z dh1 w.b1 > dh0 + dmemory = g.b1
m0 backward    embed                x dh0             > = g.embed
m0 backward    encoder              x dmemory         > = g.encoder
   advance_step                                       > ~ step
   grad_norm                        g.encoder g.embed g.b1 g.b2 g.head > norm2
   update      encoder              g.encoder norm2 target_count applied lr_table > ~ m.encoder ~ w.encoder
   update      embed                g.embed norm2 target_count applied lr_table > ~ m.embed ~ w.embed
   update      b1                   g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1
   update      b2                   g.b2 norm2 target_count applied lr_table > ~ m.b2 ~ w.b2
   update      head                 g.head norm2 target_count applied lr_table > ~ m.head ~ w.head
   advance_applied                  norm2             > ~ applied
   report                           loss_sum target_count norm2 applied lr_table
)";

/// (h) one of two shape buckets; which, the graph says.
inline const char* const text_h = R"(
m0 fetch_batch                      step              > x target
m0 forward     embed                x w.tied          > h0
m0 forward     b1                   h0 w.b1           > h1 b1.u b1.z
m0 loss        head                 h1 w.tied target  > dh1 = g.tied loss_sum target_count
m0 backward    b1                   b1.u b1.z dh1 w.b1 > dh0 = g.b1
m0 backward    embed                x dh0             > + g.tied
   advance_step                                       > ~ step
   grad_norm                        g.tied g.b1       > norm2
   update      tied                 g.tied norm2 target_count applied lr_table > ~ m.tied ~ w.tied
   update      b1                   g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1
   advance_applied                  norm2             > ~ applied
   report                           loss_sum target_count norm2 applied lr_table
)";

/// The model with values, saved operands and batch of `elements` elements.
inline ModelGraph in_bucket(ModelGraph g, std::int64_t elements) {
  for (TensorSpec& t : g.values) t.dims = {elements};
  for (TensorSpec& t : g.batch) t.dims = {elements};
  for (BlockSpec& b : g.blocks)
    for (SlotSpec& s : b.slots) s.tensor.dims = {elements};
  return g;
}

/// A program, its model and what it should mean.
struct Example {
  std::string name;
  ModelGraph graph;
  std::vector<const char*> texts;  // by role
  std::vector<std::size_t> role_of_rank;
  bool update_reads_norm2 = true;
  Overflow overflow = {};

  Training training() const {
    return {&graph,
            momentum(),
            name == "a" ? 2 : 1,
            static_cast<int>(role_of_rank.size()),
            update_reads_norm2,
            overflow};
  }
  Roles roles() const {
    Roles r{{}, role_of_rank};
    for (const char* t : texts)
      r.programs.push_back(parse(graph, momentum(), static_cast<int>(role_of_rank.size()), t));
    return r;
  }
};

inline std::vector<Example> examples() {
  return {{"a", chain(1, true), {text_a}, {0, 0}},
          {"b", chain(2, true), {text_b}, {0, 0, 0}},
          {"c", chain(1, true), {text_c}, {0}},
          {"d", with_loss_scale(chain(1, false)), {text_d}, {0, 0}, true, {2, 1}},
          {"e", chain(2, false), {text_e}, {0, 0}, false},
          {"f", unfused(), {text_f0, text_f1}, {0, 1}},
          {"g", encoder_decoder(2), {text_g}, {0}},
          {"h", chain(1, true), {text_h}, {0}}};
}

}  // namespace toy
