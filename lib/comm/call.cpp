#include "comm/call.hpp"

namespace trainx::comm {

std::string words_of(const Call& c) {
  const std::string bytes = " of " + std::to_string(c.bytes) + " bytes",
                    as = " as " + std::string(name_of(static_cast<DType>(c.dtype))),
                    root = std::to_string(c.root);
  const std::string sequence = " (collective " + std::to_string(c.sequence) + ")";
  switch (c.kind) {
    case CallKind::none: return "nothing";
    case CallKind::all_reduce: return "all_reduce" + bytes + as + sequence;
    case CallKind::reduce: return "reduce" + bytes + as + " to rank " + root + sequence;
    case CallKind::broadcast: return "broadcast" + bytes + " from rank " + root + sequence;
    case CallKind::reduce_scatter: return "reduce_scatter" + bytes + " each" + as + sequence;
    case CallKind::all_gather: return "all_gather" + bytes + " each" + sequence;
    case CallKind::all_to_all: return "all_to_all" + bytes + " each" + sequence;
    case CallKind::send: return "send" + bytes + " to rank " + root;
    case CallKind::recv: return "recv" + bytes + " from rank " + root;
  }
  return "a call that is unknown here";
}

void check_same(Control& control, int rank, const Call& call, int other_rank, const Call& other) {
  if (call == other) return;
  const bool ordered = rank < other_rank;
  const auto says = [&](int r, const Call& c) {
    return control.name_of(r) + " calls " + words_of(c);
  };
  control.fail(
      ExitCode::hang,
      (ordered ? says(rank, call) : says(other_rank, other)) + " where " +
          (ordered ? says(other_rank, other) : says(rank, call)) +
          ": they do not run the same program, which is a bug of trainx; please report it");
  control.throw_failure();
}

void check_received(Control& control, int rank, std::int64_t bytes, int from, const Call& came) {
  if (came.kind != CallKind::send || came.bytes != bytes)
    check_same(control, rank, {0, bytes, CallKind::recv, 0, from}, from, came);
}

void check_same(Control& control, std::span<const Call> calls) {
  for (std::size_t r = 1; r < calls.size(); ++r)
    check_same(control, 0, calls[0], static_cast<int>(r), calls[r]);
}

}  // namespace trainx::comm
