// Slower storage, for programs that read by `read`: each byte has to be paid for, so many millions
// of them a second (SLOW_MBS), by all threads together. Loaded by LD_PRELOAD; see index_cost.sh.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double paid_until = 0;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pay(ssize_t n_bytes) {
    static double rate = -1;
    if (rate < 0) {
        const char* text = getenv("SLOW_MBS");
        rate = text ? atof(text) * 1e6 : 0;
    }
    // Small reads are of the program's own files.
    if (rate <= 0 || n_bytes < 4096) return;
    pthread_mutex_lock(&lock);
    if (paid_until < now()) paid_until = now();
    paid_until += (double)n_bytes / rate;
    const double wait = paid_until - now();
    pthread_mutex_unlock(&lock);
    if (wait > 0) {
        struct timespec t = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
        nanosleep(&t, 0);
    }
}

ssize_t read(int file, void* buffer, size_t n_bytes) {
    static ssize_t (*next)(int, void*, size_t);
    if (!next) next = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
    const ssize_t n_read = next(file, buffer, n_bytes);
    pay(n_read);
    return n_read;
}
