// std::condition_variable::wait has a new symbol version since gcc 12 (GLIBCXX_3.4.30). Without it
// the binaries need gcc 11's libstdc++ only, as manylinux_2_34 promises. The linker puts this in
// its place
// (--wrap in cmake/Install.cmake).
#include <pthread.h>
#include <condition_variable>
#include <mutex>

void portable_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) asm(
    "__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");

void portable_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  ::pthread_cond_wait(condition->native_handle(), lock.mutex()->native_handle());
}
