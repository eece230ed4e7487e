#include "disk/block_io.hpp"
#include "disk/scratch_file.hpp"
#include <liburing.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace trainx::disk {
namespace {

constexpr unsigned depth = 32;
constexpr std::int64_t uring_piece_bytes = std::int64_t{1} << 20;

class UringIo final : public BlockIo {
 public:
  /// errno where there is none to be had.
  int open() {
    const int error = -io_uring_queue_init(depth, &ring_, 0);
    is_open_ = error == 0;
    return error;
  }
  ~UringIo() override {
    if (is_open_) io_uring_queue_exit(&ring_);
  }

  int move(const Transfer& t) override {
    std::vector<Piece*> idle;
    for (Piece& p : pieces_) idle.push_back(&p);
    std::vector<Piece*> again;  // moved in part
    std::int64_t next = 0;
    int error = 0;
    for (;;) {
      while (error == 0 && (!again.empty() || (next < t.bytes && !idle.empty()))) {
        Piece* piece = nullptr;
        if (!again.empty()) {
          piece = again.back();
          again.pop_back();
        } else {
          piece = idle.back();
          idle.pop_back();
          *piece = {next, std::min(uring_piece_bytes, t.bytes - next)};
          next += piece->bytes;
        }
        submit(t, *piece);
      }
      if (idle.size() + again.size() == pieces_.size()) return error;
      if (const int waited = io_uring_submit_and_wait(&ring_, 1);
          waited < 0 && waited != -EINTR && waited != -EAGAIN && waited != -EBUSY)
        return -waited;
      io_uring_cqe* done = nullptr;
      while (io_uring_peek_cqe(&ring_, &done) == 0) {
        auto* const piece = static_cast<Piece*>(io_uring_cqe_get_data(done));
        const int moved = done->res;
        io_uring_cqe_seen(&ring_, done);
        const std::int64_t whole =
            moved > 0 ? (moved == piece->bytes ? moved : moved / block_bytes * block_bytes) : 0;
        piece->at += whole;
        piece->bytes -= whole;
        if (piece->bytes == 0)
          idle.push_back(piece);
        else {
          if (moved < 0 && moved != -EINTR && moved != -EAGAIN) error = error ? error : -moved;
          if (moved >= 0 && whole == 0) error = error ? error : EIO;
          again.push_back(piece);
        }
      }
    }
  }
  std::string name() const override { return "io_uring"; }

 private:
  struct Piece {
    std::int64_t at = 0, bytes = 0;
  };

  void submit(const Transfer& t, Piece& piece) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);  // there are as many as pieces
    if (t.direction == Transfer::read)
      io_uring_prep_read(entry, t.file, t.memory + piece.at, static_cast<unsigned>(piece.bytes),
                         static_cast<std::uint64_t>(t.offset + piece.at));
    else
      io_uring_prep_write(entry, t.file, t.memory + piece.at, static_cast<unsigned>(piece.bytes),
                          static_cast<std::uint64_t>(t.offset + piece.at));
    io_uring_sqe_set_data(entry, &piece);
  }

  io_uring ring_{};
  bool is_open_ = false;
  std::array<Piece, depth> pieces_;
};

}  // namespace

std::unique_ptr<BlockIo> make_uring_io(int file) {
  auto io = std::make_unique<UringIo>();
  if (io->open() != 0) return nullptr;
  // a ring may be made where reads are not known yet (before Linux 5.6)
  alignas(block_bytes) std::array<std::byte, block_bytes> block;
  if (io->move({Transfer::read, file, 0, block.data(), block_bytes}) != 0) return nullptr;
  return io;
}

}  // namespace trainx::disk
