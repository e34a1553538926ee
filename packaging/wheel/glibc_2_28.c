// What glibc 2.28 lacks and a wheel's extension needs: each is hidden in it, so that the process goes on using its own.
//
// The functions were inline in older headers, or are younger. Compiled with new headers, the library and Debian's
// archives call them by name.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#pragma GCC visibility push(hidden)

// Until 2.33 headers had them call these, with the version of struct stat; that of x86-64 is 1, and its struct stat64 is
// struct stat.
extern int __xstat(int version, const char* path, struct stat* status) __attribute__((visibility("default")));
extern int __lxstat(int version, const char* path, struct stat* status) __attribute__((visibility("default")));
extern int __fxstat(int version, int file, struct stat* status) __attribute__((visibility("default")));

int stat(const char* path, struct stat* status) { return __xstat(1, path, status); }
int lstat(const char* path, struct stat* status) { return __lxstat(1, path, status); }
int fstat(int file, struct stat* status) { return __fxstat(1, file, status); }
int fstat64(int file, struct stat64* status) { return __fxstat(1, file, (struct stat*)status); }

// Of 2.32. libstdc++ counts owners of a shared_ptr without atomics while it is true; false is always right.
char __libc_single_threaded = 0;

// Of 2.36, for std::random_device.
__uint32_t arc4random(void) {
  __uint32_t number;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    if (errno != EINTR) abort();
  }
  return number;
}

// Of 2.30, for std::condition_variable::wait_for. The clock of a wait is that of the variable, which is the realtime
// clock where std::condition_variable made it: what is left to wait is put on that clock. Where that is set meanwhile,
// the wait is shorter or longer, as it was with libstdc++ before.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec there, here;
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &here);
  here.tv_sec += until->tv_sec - there.tv_sec;
  here.tv_nsec += until->tv_nsec - there.tv_nsec;
  if (here.tv_nsec < 0) here.tv_sec -= 1, here.tv_nsec += 1000000000;
  if (here.tv_nsec >= 1000000000) here.tv_sec += 1, here.tv_nsec -= 1000000000;
  return pthread_cond_timedwait(condition, mutex, &here);
}

// Debian's archives are code for programs, which find these in a copy of glibc's variables that the program has. A
// library has no such copies: these are, made before anything of the library runs.
#undef stderr
#undef stdout
FILE *stderr, *stdout;
__attribute__((constructor(101))) static void copy_variables(void) {
  stderr = *(FILE**)dlsym(RTLD_DEFAULT, "stderr");
  stdout = *(FILE**)dlsym(RTLD_DEFAULT, "stdout");
}

#pragma GCC visibility pop
