/* The interface between the decision which call of the tested program fails (decide.c) and the
 * functions that replace the C library's (calls.c, stat.c). */
#ifndef FAULTS_H
#define FAULTS_H

#include <dlfcn.h>
#include <errno.h>

/* Hidden from the tested program. */
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

/* Verdicts other than an errno, which is positive. */
enum { PROCEED = 0, CUT_SHORT = -1 };

/* Whether to skip syncs. */
int without_sync(void);

/* Returns the verdict for this call: PROCEED, CUT_SHORT, or the errno to fail with. Kills the
 * process instead when the settings say so. `folder` is an open folder or AT_FDCWD; `path` is
 * relative to it. Preserves errno. */
int at_path(enum kind kind, int folder, const char *path);

/* The same for a call on an open file. */
int at_descriptor(enum kind kind, int descriptor);

/* Either of the two: with the flag AT_EMPTY_PATH, an empty path means the open file. A null path is
 * not counted: Rust passes one to find out whether the system has statx at all. */
int at_either(enum kind kind, int descriptor, const char *path, int flags);

/* The original function of this name. */
void *real_function(const char *name);

#pragma GCC visibility pop

/* `real_function` with the type of the replaced function. */
#define REAL(name) ((__typeof__(&name))real_function(#name))

/* If the verdict is an errno, sets it and returns `failed`. */
#define FAIL_IF(verdict, failed)                                                                   \
    do {                                                                                           \
        int fault = (verdict);                                                                     \
        if (fault > 0) {                                                                           \
            errno = fault;                                                                         \
            return failed;                                                                         \
        }                                                                                          \
    } while (0)

#endif
