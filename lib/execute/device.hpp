// Where a run computes: the memory that its programs are placed in, and what executes them there.
#pragma once
#include "execute/arena.hpp"
#include "core/link_rates.hpp"
#include "core/memory_errors.hpp"
#include "core/power_reading.hpp"
#include "disk/disk.hpp"
#include "execute/ranks.hpp"
#include "kernels/random/initial_values.hpp"
#include <cstdint>
#include <functional>

namespace trainx::execute {

/// A part of residents() or host() and what it begins as.
struct InitialPart {
  kernels::InitialPlaces to;
  kernels::InitialValues values;
};

/// Parts of residents() that upload() does not copy.
struct NotUploaded {
  std::vector<std::span<const std::byte>> zeros;  // set to zero in memory()
  std::vector<std::span<const std::byte>> drawn;  // draw() or keep() has written them to memory()
  std::vector<std::span<const std::byte>> constants;  // of those, what downloads leave out, too
};

class Device {
 public:
  virtual ~Device() = default;
  /// Host memory where the programs' resident buffers lie, at their addresses, without those that
  /// are derived (program::is_derived): what is loaded and saved. On a CPU the arena itself.
  virtual Arena& residents() = 0;
  /// What programs keep on the host: pinned memory beside a GPU, on a CPU another arena. Null where
  /// they keep nothing there.
  virtual std::byte* host() const = 0;
  /// Pages of the space's arena on the host, residents() or host(), that the ranks of a host may
  /// share (plan::shared_pages); the same on all ranks. Empty: none.
  virtual std::vector<program::Range> shared_pages(program::Space) const { return {}; }
  /// Whether it can read such pages while they are mapped for reading alone.
  virtual bool can_share_pages() const { return true; }
  /// Pins the shared pages of host(), which a GPU then reads, and writes unless they are mapped for
  /// reading alone. Called when they are in their place, before the GPU uses them.
  virtual void pin_shared_pages([[maybe_unused]] bool for_reading_alone) {}
  /// Before they are replaced.
  virtual void unpin_shared_pages() {}
  /// What programs keep on a disk; null where they keep nothing there.
  virtual disk::Disk* disk() const = 0;
  /// Whether training writes to residents() or, to what is resident there, to host(), so that what
  /// is read beside it must be copied first.
  virtual bool steps_change_residents() const = 0;
  /// Between a device's memory and residents(); nothing where they are one. The memory must be at
  /// rest.
  virtual void upload(const NotUploaded& parts = {}) = 0;
  virtual void download() = 0;
  /// The same of a part of residents() that was written there, or of host(), which steps read where
  /// it is.
  virtual void upload_part(std::span<const std::byte>) {}
  /// Whether memory() is another than that of residents(). Only then are the next three called.
  virtual bool has_own_memory() const { return false; }
  /// Draws initial values in memory(), in the places that the parts have in residents(), whose own
  /// memory is not touched; and in host(). What was drawn is there on return.
  virtual void draw(std::span<const InitialPart>) {}
  /// Copies a part of residents() to memory() and gives its pages back to the system, so that the
  /// host holds a group at a time.
  virtual void keep(std::span<std::byte>) {}
  /// Copies a part of memory() to residents(), where it lies.
  virtual void download_part(std::span<std::byte>) {}
  /// The same as download() beside the steps that follow: residents() may be read once
  /// end_download() has returned, on any thread, with the seconds that the copy took, for which the
  /// steps' first write to a resident waited.
  virtual void begin_download() { download(); }
  /// To be called once, after upload(), by whoever will: memory for such copies is prepared in the
  /// background. Without it they are made all the same, but while begin_download() waits.
  virtual void expect_downloads() {}
  virtual double end_download() { return 0; }
  /// The memory that is computed in: arena_bytes, with the residents at its beginning.
  virtual std::byte* memory() = 0;
  /// Operations (lib/operations) that `work` calls on this thread are computed here.
  virtual void compute(const std::function<void()>& work) = 0;
  /// The plan's programs of one kind. They and the parts must outlive the executor.
  virtual std::unique_ptr<Executor> make_executor(const std::vector<plan::PlacedProgram>& programs,
                                                  ExecutorParts parts) = 0;
  virtual std::int64_t arena_bytes() const = 0;
  /// Of the arena and of what was taken beside it, at the peak so far.
  virtual std::int64_t peak_bytes() const = 0;
  /// Of this process, as the driver or the kernel sees it.
  virtual std::int64_t process_bytes() const = 0;
  virtual PowerReading power() const { return {}; }
  /// What ECC counts; nothing on a CPU, or where it is not told.
  virtual MemoryErrors memory_errors() const { return {}; }
  /// No call to it succeeds any more, its teardown neither.
  virtual bool is_lost() const { return false; }
  /// Chooses the fastest way for the work that executors have met so far, where this machine does
  /// not know it yet: seconds for each kind of matrix product. Between steps; returns how many were
  /// tried.
  virtual int tune() { return 0; }
  virtual std::string name() const = 0;  // "2 CPU threads", "NVIDIA H200"
};

/// What tells the device of this rank from others': two ranks of one host with the same are
/// refused. Empty on a CPU, which ranks share.
std::string device_identity(const plan::RunPlan& plan, int local_rank);

/// The file that a role's programs have on a disk, in the plan's folder; null where they have none.
/// Throws UserError 71 or 73.
std::unique_ptr<disk::Disk> make_disk(const plan::RunPlan& plan, const plan::RankRole& role);

/// Of the GPUs that this process sees. Throws UserError 69: no device, driver or library; 71 no
/// memory for it.
LinkRates measure_links();

/// The one that the plan is for, with the memory of the rank's role. Throws UserError: 69 no such
/// device, driver or library, 71 out of its memory.
std::unique_ptr<Device> open_device(const plan::RunPlan& plan, const Ranks& ranks = {});

}  // namespace trainx::execute
