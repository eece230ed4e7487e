// Schedules of pipelines as data: which stage computes which chunk of layers of which micro-step,
// in which order, and which messages go between them.
#pragma once
#include "core/pipeline_schedule.hpp"
#include <vector>

namespace trainx::program {

/// Stages in order, each with as many chunks of layers. The layers' chunks are numbered in the
/// order in which a text goes through them: chunk k is of stage k % stages.
struct PipelineShape {
  int stages = 1, chunks = 1, micro_steps = 1;
  int all_chunks() const { return stages * chunks; }
  int stage_of(int chunk) const { return chunk % stages; }
  bool operator==(const PipelineShape&) const = default;
};

/// What a stage computes without a message in between: forward or backward of a chunk.
struct Turn {
  bool is_backward = false;
  int chunk = 0;  // of all
  int micro = 0;
  bool operator==(const Turn&) const = default;
};

/// By stage, the turns of a step in the order in which it computes them. Interleaved schedules need
/// micro-steps that the stages divide; InternalError otherwise. Of 1F1B a stage has one chunk.
std::vector<std::vector<Turn>> turns_of_step(const PipelineShape& shape, PipelineSchedule schedule);
/// The same of an evaluation, which has no backward.
std::vector<std::vector<Turn>> turns_of_evaluation(const PipelineShape& shape);

/// What turns of a chunk take, in any unit.
struct TurnTimes {
  double forward = 1, backward = 2;
};
struct TimedTurn : Turn {
  double begin = 0, end = 0;
};
/// By stage: when each turn is computed, if each begins as soon as its stage is free and what it
/// reads is there. `of_chunks`: of each chunk. `message_s`: what a message takes, beside the turns.
/// InternalError where turns wait for each other.
std::vector<std::vector<TimedTurn>> timed(const PipelineShape& shape,
                                          const std::vector<std::vector<Turn>>& turns,
                                          const std::vector<TurnTimes>& of_chunks,
                                          double message_s = 0);
/// The same of chunks that are alike.
std::vector<std::vector<TimedTurn>> timed(const PipelineShape& shape,
                                          const std::vector<std::vector<Turn>>& turns,
                                          const TurnTimes& times);
/// Of the time from the first turn to the last, the share in which stages compute nothing.
double idle_share(const std::vector<std::vector<TimedTurn>>& turns);

/// A step of all stages in one order, in which each turn comes behind what it reads: the turns by
/// when they end, each followed by the messages that tell others what it has made. As each stage
/// keeps to this order, none waits for one that waits for it.
struct PipelineEvent {
  Turn turn;
  // a message of the turn: the chunk that reads it; else the turn itself
  bool is_message = false;
  int to_chunk = 0;
};
std::vector<PipelineEvent> events_of(const PipelineShape& shape,
                                     const std::vector<std::vector<TimedTurn>>& turns);

}  // namespace trainx::program
