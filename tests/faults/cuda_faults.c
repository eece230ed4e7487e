// LD_PRELOAD: at the nth call of a function of the CUDA runtime the process is killed, the call
// fails, or a kernel truly takes the device down. Calls are counted over all threads; launches of a
// graph also for each graph by itself ("cudaGraphLaunch.0": of the first that was instantiated).
//   CUDA_FAULT_PROGRAM  only in processes of this name
//   CUDA_FAULT_CALL     "cudaGraphLaunch 7": which call, from 1; unset: none
//   CUDA_FAULT          kill-worker | kill-launcher | kill-all | an error code: the call fails |
//                       lost:CODE: it and every later call fails | trap_kernel, illegal_address:
//                       that kernel of CUDA_FAULT_IMAGE is launched before the call
//   CUDA_FAULT_IMAGE    a file that the driver can load: a cubin, or PTX
//   CUDA_FAULT_LOG      a line for each call: its name and number
//   CUDA_FAULT_ONCE     a file that who acts makes: of several processes the first alone does
// It declares what it replaces itself: no header of CUDA is needed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Error;
typedef void* Handle;

enum { most_names = 256, most_graphs = 64 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char name[64];
  int calls;
} counted[most_names];
static Handle graphs[most_graphs];
static int graph_count;
static Error lost;

static int is_on(void) {
  const char* program = getenv("CUDA_FAULT_PROGRAM");
  return program && !strcmp(program_invocation_short_name, program);
}

static int count(const char* name) {
  int i = 0;
  while (i < most_names - 1 && counted[i].name[0] && strcmp(counted[i].name, name)) ++i;
  if (!counted[i].name[0]) strncpy(counted[i].name, name, sizeof counted[i].name - 1);
  return ++counted[i].calls;
}

static void give_up(const char* doing, int code) {
  fprintf(stderr, "cuda_faults: %s: %d\n", doing, code);
  _exit(99);
}

/// The context of this thread is of no use from here on.
static void launch_fault(const char* kernel) {
  Handle cuda = dlopen("libcuda.so.1", RTLD_NOW), module = NULL, function = NULL, stream = NULL;
  if (!cuda) give_up("no libcuda.so.1", 0);
  Error (*load)(Handle*, const void*) = dlsym(cuda, "cuModuleLoadData");
  Error (*get)(Handle*, Handle, const char*) = dlsym(cuda, "cuModuleGetFunction");
  Error (*make)(Handle*, unsigned) = dlsym(cuda, "cuStreamCreate");
  Error (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  Handle, void**, void**) = dlsym(cuda, "cuLaunchKernel");
  static char image[1 << 16];  // with a zero behind it, where it is PTX
  FILE* file = fopen(getenv("CUDA_FAULT_IMAGE"), "rb");
  if (!file || !fread(image, 1, sizeof image - 1, file)) give_up("CUDA_FAULT_IMAGE", 0);
  fclose(file);
  Error error = load(&module, image);
  if (error) give_up("cuModuleLoadData", error);
  if ((error = get(&function, module, kernel))) give_up("cuModuleGetFunction", error);
  if ((error = make(&stream, 1))) give_up("cuStreamCreate", error);  // beside the others
  if ((error = launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL)))
    give_up("cuLaunchKernel", error);
}

/// The error that the call is to return; 0: it goes on.
static Error act(void) {
  const char *what = getenv("CUDA_FAULT"), *once = getenv("CUDA_FAULT_ONCE");
  int made = once ? open(once, O_WRONLY | O_CREAT | O_EXCL, 0666) : -1;
  if (once && made < 0) return 0;
  if (made >= 0) close(made);
  if (!strncmp(what, "kill-", 5)) {
    if (strcmp(what, "kill-worker")) kill(getppid(), SIGKILL);
    if (strcmp(what, "kill-launcher")) kill(getpid(), SIGKILL);
    return 0;
  }
  if (!strncmp(what, "lost:", 5)) return lost = atoi(what + 5);
  if (what[0] >= '0' && what[0] <= '9') return atoi(what);
  launch_fault(what);
  return 0;
}

static Error before(const char* name, Handle graph) {
  if (!is_on()) return 0;
  char names[2][64] = {""};
  int hit = 0, numbers[2] = {0};
  const char* call = getenv("CUDA_FAULT_CALL");
  pthread_mutex_lock(&mutex);
  snprintf(names[0], sizeof names[0], "%s", name);
  for (int i = 0; graph && i < graph_count; ++i)
    if (graphs[i] == graph) snprintf(names[1], sizeof names[1], "%s.%d", name, i);
  for (int i = 0; i < 2 && names[i][0]; ++i) {
    char line[100];
    int size = snprintf(line, sizeof line, "%s %d\n", names[i], numbers[i] = count(names[i]));
    if (call && strlen(call) == (size_t)size - 1 && !strncmp(call, line, size - 1)) hit = 1;
    int log = getenv("CUDA_FAULT_LOG")
                  ? open(getenv("CUDA_FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666)
                  : -1;
    if (log >= 0 && write(log, line, size) < 0) hit = 0;
    if (log >= 0) close(log);
  }
  Error error = lost;
  pthread_mutex_unlock(&mutex);
  return error ? error : hit ? act() : 0;
}

#define CALL(name, takes, passes)                              \
  Error name takes {                                           \
    static Error(*next) takes;                                 \
    if (!next) next = (Error(*) takes)dlsym(RTLD_NEXT, #name); \
    const Error error = before(#name, NULL);                   \
    return error ? error : next passes;                        \
  }
CALL(cudaGetLastError, (void), ())
CALL(cudaPeekAtLastError, (void), ())
CALL(cudaGetDeviceCount, (int* n), (n))
CALL(cudaSetDevice, (int n), (n))
CALL(cudaMemGetInfo, (size_t * a, size_t* b), (a, b))
CALL(cudaMalloc, (Handle * p, size_t n), (p, n))
CALL(cudaHostAlloc, (Handle * p, size_t n, unsigned f), (p, n, f))
CALL(cudaHostRegister, (Handle p, size_t n, unsigned f), (p, n, f))
CALL(cudaFree, (Handle p), (p))
CALL(cudaFreeHost, (Handle p), (p))
CALL(cudaMemcpyAsync, (Handle a, const void* b, size_t n, int k, Handle s), (a, b, n, k, s))
CALL(cudaMemsetAsync, (Handle a, int v, size_t n, Handle s), (a, v, n, s))
CALL(cudaStreamCreateWithPriority, (Handle * s, unsigned f, int p), (s, f, p))
CALL(cudaStreamDestroy, (Handle s), (s))
CALL(cudaStreamSynchronize, (Handle s), (s))
CALL(cudaStreamWaitEvent, (Handle s, Handle e, unsigned f), (s, e, f))
CALL(cudaStreamBeginCapture, (Handle s, int mode), (s, mode))
CALL(cudaStreamEndCapture, (Handle s, Handle* g), (s, g))
CALL(cudaEventCreateWithFlags, (Handle * e, unsigned f), (e, f))
CALL(cudaEventRecord, (Handle e, Handle s), (e, s))
CALL(cudaEventQuery, (Handle e), (e))
CALL(cudaEventSynchronize, (Handle e), (e))
CALL(cudaEventElapsedTime, (float* ms, Handle a, Handle b), (ms, a, b))
CALL(cudaGraphUpload, (Handle g, Handle s), (g, s))
CALL(cudaGraphExecDestroy, (Handle g), (g))

Error cudaGraphInstantiate(Handle* made, Handle graph, unsigned long long flags) {
  static Error (*next)(Handle*, Handle, unsigned long long);
  if (!next) next = dlsym(RTLD_NEXT, "cudaGraphInstantiate");
  Error error = before("cudaGraphInstantiate", NULL);
  if (error || (error = next(made, graph, flags))) return error;
  pthread_mutex_lock(&mutex);
  if (graph_count < most_graphs) graphs[graph_count++] = *made;
  pthread_mutex_unlock(&mutex);
  return 0;
}

Error cudaGraphLaunch(Handle graph, Handle stream) {
  static Error (*next)(Handle, Handle);
  if (!next) next = dlsym(RTLD_NEXT, "cudaGraphLaunch");
  const Error error = before("cudaGraphLaunch", graph);
  return error ? error : next(graph, stream);
}
