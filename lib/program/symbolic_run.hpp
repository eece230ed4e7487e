// Runs programs over symbols, the ranks in lockstep: each in list order, collectives and messages
// where all that take part have arrived.
#pragma once
#include "program/cells.hpp"
#include "program/check.hpp"
#include "program/symbols.hpp"
#include <memory>

namespace trainx::program {

class SymbolicRun {
 public:
  /// `ranks`: the program of each rank; ranks of the same role give the same pointer. Resident
  /// cells begin with the reference's symbols. `rounds`: of sums over whole tensors in an update.
  SymbolicRun(const std::vector<const StepProgram*>& ranks, const ModelGraph& graph,
              const GroupCuts& cuts, int rounds = 0);
  /// Returns the first problem as a sentence.
  std::string run(int steps);

  const CellMap& cells(int rank) const { return *maps_[rank]; }
  Symbol cell(int rank, int cell) const { return symbols_[rank][cell]; }
  Symbol reports(int rank) const { return reports_[rank]; }

 private:
  std::string execute(const Instruction& i, int rank);
  std::string run_block(const Instruction& i, int rank);
  std::string copy(const Instruction& i, int rank);
  std::string cast(const Instruction& i, int rank);
  void fp8_scale(const Instruction& i, int rank);
  std::string quantize(const Instruction& i, int rank);
  std::string add(const Instruction& i, int rank);
  std::string update(const Instruction& i, int rank);
  std::string update_tensors(const Instruction& i, int rank);
  std::string require_same_elements(const Instruction& i, int rank) const;
  UpdateOperands update_operands(const Instruction& i, int rank, int cell);
  void grad_norm(const Instruction& i, int rank);
  std::string meet_at(const Instruction& i, int rank,
                      const std::vector<const Instruction*>& waiting, std::vector<int>& met) const;
  std::string where_ranks_stand(const std::vector<const Instruction*>& waiting) const;
  std::string transfer(const Instruction& send, int from, const Instruction& recv, int to);
  std::string move(const Instruction& i, const Use& from, int from_rank, const Use& to,
                   int to_rank);
  std::string collective_among(const std::vector<int>& ranks,
                               const std::vector<const Instruction*>& of_rank);
  std::string reduce(const std::vector<int>& ranks, const std::vector<const Instruction*>& of_rank);
  std::string broadcast(const std::vector<int>& ranks,
                        const std::vector<const Instruction*>& of_rank);
  std::string exchange(int thing, const std::vector<int>& ranks,
                       const std::vector<const Instruction*>& of_rank);
  bool is_in_pieces(const Instruction& i, int thing, int rank) const;
  std::string value_move(Op op, int thing, const std::vector<int>& ranks,
                         const std::vector<const Instruction*>& of_rank);
  std::string shard_move(Op op, int thing, const std::vector<int>& ranks,
                         const std::vector<const Instruction*>& of_rank);

  const StepProgram& program(int rank) const { return *programs_[rank]; }
  const Buffer& buffer(const Use& u, int rank) const { return program(rank).buffers[u.buffer]; }
  bool is_of_tensors(const Use& u, int rank) const { return buffer(u, rank).unit == Unit::tensor; }
  Symbol& at(int rank, int cell) { return symbols_[rank][cell]; }
  Symbol operand(const Use& u, int rank);
  void store(const Use& u, int rank, Symbol made);
  Symbol operand_of_piece(const Use& u, int rank, int part, int parts);
  void store_piece(const Use& u, int rank, int part, int parts, Symbol made);
  /// Of a group in parts, cells of the part.
  CellMap::Run of_part(const Use& u, int rank, const BlockSpec& spec, int part) const;
  /// `count` of the `all` pieces of a buffer that is of no group: what a part of a block uses.
  struct PieceOf {
    int first = 0, count = 1, all = 1;
  };
  PieceOf piece_of(const Use& u, int rank, const BlockSpec& spec, int part) const;
  Symbol operand_of_part(const Use& u, int rank, const BlockSpec& spec, int part);
  void store_of_part(const Use& u, int rank, const BlockSpec& spec, int part, Symbol made);

  std::vector<const StepProgram*> programs_;
  const ModelGraph& graph_;
  std::vector<int> value_parts_;  // parts_of_values
  int rounds_;
  std::vector<std::shared_ptr<const CellMap>> maps_;
  std::vector<std::vector<Symbol>> symbols_;  // by rank and cell
  std::vector<Symbol> reports_;
};

}  // namespace trainx::program
