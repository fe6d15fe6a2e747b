/* When a call of the watched program is to fail: the contract between the decision (decide.c)
 * and the functions of the C library that stand before the real ones (calls.c). */
#ifndef FAULTS_H
#define FAULTS_H

#include <dlfcn.h>
#include <errno.h>

/* Everything here is between our own files, not for the watched program. */
#pragma GCC visibility push(hidden)

/* What a call does. A call is counted when the environment lists its kind. */
enum kind {
    OPEN,     /* open, openat, creat, opendir */
    READ,     /* read, pread, readv */
    WRITE,    /* write, pwrite, writev, copy_file_range, sendfile */
    SYNC,     /* fsync, fdatasync */
    RENAME,   /* rename, link: counted for the old name */
    TRUNCATE, /* truncate, ftruncate */
    MKDIR,    /* mkdir */
    UNLINK,   /* unlink, rmdir */
    STAT,     /* stat, fstat, lstat, statx, access */
    LOCK,     /* flock and the locks of fcntl; unlocking is not counted */
    LIST,     /* readdir */
    MAP,      /* mmap of a file */
    KINDS
};

/* Answers beside an errno, which is positive. */
enum { PROCEED = 0, CUT_SHORT = -1 };

/* Whether syncs are to be left out. */
int without_sync(void);

/* What this call is to do: PROCEED, CUT_SHORT, or the errno to fail with. Does not return when the
 * process is to be killed here. `folder` is an open folder or AT_FDCWD; `path` is relative to it.
 * errno is as before. */
int at_path(enum kind kind, int folder, const char *path);

/* The same for a call on an open file. */
int at_descriptor(enum kind kind, int descriptor);

/* Either of them: an empty path stands for the open file where the flag AT_EMPTY_PATH says so. Not
 * counted without a path: Rust asks so whether the system has statx at all. */
int at_either(enum kind kind, int descriptor, const char *path, int flags);

/* The function of this name behind ours. */
void *real_function(const char *name);

#pragma GCC visibility pop

/* The function of this name that the program would have called without this library. */
#define REAL(name) ((__typeof__(&name))real_function(#name))

/* Leaves the function with `failed` and the errno, if the verdict is one. */
#define FAIL_IF(verdict, failed)                                                                   \
    do {                                                                                           \
        int fault = (verdict);                                                                     \
        if (fault > 0) {                                                                           \
            errno = fault;                                                                         \
            return failed;                                                                         \
        }                                                                                          \
    } while (0)

#endif
