// LD_PRELOAD: NVML's ECC counters are those in the file ECC_COUNTERS: "corrected uncorrected
// pending". All else is the driver's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Device;
enum { function_not_found = 13 };

static int told(unsigned long long* corrected, unsigned long long* uncorrected, unsigned* pending) {
  FILE* file = fopen(getenv("ECC_COUNTERS"), "r");
  if (!file) return function_not_found;
  int read = fscanf(file, "%llu %llu %u", corrected, uncorrected, pending);
  fclose(file);
  return read == 3 ? 0 : function_not_found;
}

static int mode(Device d, unsigned* now, unsigned* next) {
  (void)d;
  *now = *next = 1;
  return 0;
}

static int total(Device d, unsigned kind, unsigned counter, unsigned long long* n) {
  (void)d, (void)counter;
  unsigned long long counts[2];
  unsigned pending;
  int error = told(&counts[0], &counts[1], &pending);
  if (!error) *n = counts[kind != 0];
  return error;
}

static int remapped(Device d, unsigned* c, unsigned* u, unsigned* pending, unsigned* failed) {
  (void)d;
  unsigned long long counts[2];
  *c = *u = *failed = 0;
  return told(&counts[0], &counts[1], pending);
}

void* dlsym(void* library, const char* name) {
  static void* (*next)(void*, const char*);
  if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!next) next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (!strcmp(name, "nvmlDeviceGetEccMode")) return (void*)mode;
  if (!strcmp(name, "nvmlDeviceGetTotalEccErrors")) return (void*)total;
  if (!strcmp(name, "nvmlDeviceGetRemappedRows")) return (void*)remapped;
  return next(library, name);
}
