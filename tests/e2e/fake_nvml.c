// Stands in NVML's place: two GPUs (FAKE_GPUS: up to eight) with NVLink to each other, in pairs,
// and one to a switch, of which the second has a narrow link and a process on it. Layouts and
// numbers are those of NVIDIA's published bindings (pynvml), written down a second time. They are
// H200s, unless FAKE_GPU says otherwise: "name,capability,memory MiB,cores,MHz,memory MHz,bits of
// the memory's bus", of which 0 is not told. FAKE_LINKS has other links: "NVLinks to its pair, PCIe
// generation, lanes, nvmlGpuP2PStatus_t".
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int index;
} Device;
static Device devices[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static const char* const addresses[8] = {"00000000:17:00.0", "00000000:B3:00.0", "00000000:C1:00.0",
                                         "00000000:C2:00.0", "00000000:C3:00.0", "00000000:C4:00.0",
                                         "00000000:C5:00.0", "00000000:C6:00.0"};

typedef struct {
  char name[64];
  unsigned capability, memory_mib, cores, mhz, memory_mhz, bus;
} Kind;
static Kind kind_of(void) {
  Kind k = {"NVIDIA H200", 90, 143771, 0, 1980, 1, 0};
  const char* told = getenv("FAKE_GPU");
  if (told != NULL && sscanf(told, "%63[^,],%u,%u,%u,%u,%u,%u", k.name, &k.capability,
                             &k.memory_mib, &k.cores, &k.mhz, &k.memory_mhz, &k.bus) != 7)
    abort();
  return k;
}

typedef struct {
  unsigned nvlinks, generation, width, access;
} Links;
/* Zeros where FAKE_LINKS is not set. */
static int links_told(Links* l) {
  const char* told = getenv("FAKE_LINKS");
  *l = (Links){0, 0, 0, 0};
  if (told == NULL) return 0;
  if (sscanf(told, "%u,%u,%u,%u", &l->nvlinks, &l->generation, &l->width, &l->access) != 4) abort();
  return 1;
}

typedef struct {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem;
  char address[32];
} Pci;
typedef struct {
  uint32_t field, scope;
  int64_t timestamp, latency;
  int32_t type, code;
  union {
    double d;
    uint64_t u;
  } value;
} Field;
typedef struct {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
} Process;

#ifdef MISMATCH
int nvmlInit_v2(void) { return 18; }
#else
static void* wait_for_ever(void* nothing) {
  for (;;) pause();
  return nothing;
}
/* The driver's library starts threads too, which outlive nvmlShutdown. */
int nvmlInit_v2(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, wait_for_ever, NULL);
}
#endif
/* Stays loaded: its thread does. */
__attribute__((constructor)) static void stay(void) {
  dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NODELETE);
}
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) {
  return code == 18   ? "Driver/library version mismatch"
         : code == 4  ? "Insufficient Permissions"
         : code == 15 ? "GPU is lost"
                      : "error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned n) {
  snprintf(text, n, "580.65.06");
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* n) {
  const char* told = getenv("FAKE_GPUS");
  *n = told != NULL ? (unsigned)atoi(told) : 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Device** d) {
#ifdef LOST
  if (i == 1) return 15;
#endif
  *d = &devices[i];
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, Device** d) {
  for (int i = 0; i < 8; ++i)
    if (strstr(address, addresses[i] + 9) != NULL) *d = &devices[i];
  return 0;
}
int nvmlDeviceGetName(Device* d, char* text, unsigned n) {
  (void)d;
  snprintf(text, n, "%s", kind_of().name);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Device* d, Pci* p) {
  strcpy(p->address, addresses[d->index]);
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device* d, unsigned long long* m) {
  (void)d;
  m[0] = (unsigned long long)kind_of().memory_mib << 20, m[1] = m[0] - (1ULL << 30),
  m[2] = 1ULL << 30;
  return 0;
}
int nvmlDeviceGetClockInfo(Device* d, unsigned kind, unsigned* mhz) {
  (void)d;
  *mhz = kind == 1 ? 1500 : 1;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(Device* d, unsigned kind, unsigned* mhz) {
  (void)d;
  *mhz = kind == 1 ? kind_of().mhz : kind_of().memory_mhz;
  return *mhz == 0 ? 3 : 0;
}
int nvmlDeviceGetNumGpuCores(Device* d, unsigned* n) {
  (void)d;
  *n = kind_of().cores;
  return *n == 0 ? 3 : 0;
}
int nvmlDeviceGetMemoryBusWidth(Device* d, unsigned* bits) {
  (void)d;
  *bits = kind_of().bus;
  return *bits == 0 ? 3 : 0;
}
int nvmlDeviceGetPowerUsage(Device* d, unsigned* mw) {
  (void)d;
  *mw = 120500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(Device* d, unsigned* mw) {
  (void)d;
  *mw = 700000;
  return 0;
}
int nvmlDeviceGetTemperature(Device* d, unsigned sensor, unsigned* c) {
  (void)d;
  *c = 40 + sensor;
  return 0;
}
int nvmlDeviceGetPerformanceState(Device* d, unsigned* state) {
  (void)d;
  *state = 0;
  return 0;
}
// the older name alone
int nvmlDeviceGetCurrentClocksThrottleReasons(Device* d, unsigned long long* bits) {
  *bits = d->index == 0 ? 0x20 : 0x1;
  return 0;
}
#ifdef NO_ECC
int nvmlDeviceGetEccMode(Device* d, unsigned* now, unsigned* next) {
  (void)d, (void)now, (void)next;
  return 3;
}
#else
int nvmlDeviceGetEccMode(Device* d, unsigned* now, unsigned* next) {
  (void)d;
  *now = *next = 1;
  return 0;
}
#endif
#ifdef BROKEN_MEMORY
enum { uncorrected = 2, row_pending = 1 };
#else
enum { uncorrected = 0, row_pending = 0 };
#endif
int nvmlDeviceGetTotalEccErrors(Device* d, unsigned kind, unsigned counter, unsigned long long* n) {
  *n = counter != 0 ? 0 : kind == 0 ? 5 : d->index == 0 ? uncorrected : 0;
  return 0;
}
int nvmlDeviceGetRemappedRows(Device* d, unsigned* c, unsigned* u, unsigned* pending,
                              unsigned* failed) {
#ifdef NO_ECC
  (void)d, (void)c, (void)u, (void)pending, (void)failed;
  return 3;
#endif
  *c = *u = 2, *pending = d->index == 1 ? row_pending : 0, *failed = 0;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device* d, unsigned* g) {
  (void)d;
  *g = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(Device* d, unsigned* g) {
  (void)d;
  Links l;
  *g = links_told(&l) ? l.generation : 5;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(Device* d, unsigned* w) {
  Links l;
  *w = links_told(&l) ? l.width : d->index == 1 ? 8 : 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(Device* d, unsigned* w) {
  (void)d;
  *w = 16;
  return 0;
}
int nvmlDeviceGetComputeMode(Device* d, unsigned* mode) {
  (void)d;
  *mode = 3;
  return 0;
}
int nvmlDeviceGetMigMode(Device* d, unsigned* now, unsigned* next) {
  (void)d, (void)now, (void)next;
  return 4;
}
int nvmlDeviceGetCudaComputeCapability(Device* d, int* major, int* minor) {
  (void)d;
  *major = (int)kind_of().capability / 10, *minor = (int)kind_of().capability % 10;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device* d, unsigned* n, Process* p) {
  *n = (unsigned)d->index;
  if (d->index == 1) p[0] = (Process){1, ~0ULL, 0, 0};
  return 0;
}
int nvmlDeviceGetNvLinkState(Device* d, unsigned link, unsigned* active) {
  (void)d;
  Links l;
  if (links_told(&l)) {
    *active = 1;
    return link < l.nvlinks ? 0 : 2;
  }
  if (link >= 4) return 2;
  *active = link < 3;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device* d, unsigned link, unsigned* kind) {
  (void)d;
  Links l;
  *kind = !links_told(&l) && link == 2 ? 2 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* d, unsigned link, Pci* p) {
  (void)link;
  strcpy(p->address, addresses[d->index ^ 1]);
  return 0;
}
int nvmlDeviceGetFieldValues(Device* d, int n, Field* f) {
  (void)d;
  for (int i = 0; i < n; ++i) {
    f[i].code = f[i].field == 90 ? 0 : 3;
    f[i].type = 3;
    f[i].value.u = 26562;
  }
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(Device* a, Device* b, unsigned* level) {
  *level = a != b ? 50 : 0;
  return 0;
}
int nvmlDeviceGetP2PStatus(Device* a, Device* b, unsigned index, unsigned* status) {
  (void)a, (void)b;
  Links l;
  *status = index != 0 ? 5 : links_told(&l) ? l.access : 0;
  return 0;
}
