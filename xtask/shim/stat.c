/* As calls.c, for the functions that query a file's metadata. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

#define STAT_NAMED(name, information)                                                              \
    int name(const char *restrict path, struct information *restrict found) {                      \
        FAIL_IF(at_path(STAT, AT_FDCWD, path), -1);                                                \
        return REAL(name)(path, found);                                                            \
    }
STAT_NAMED(stat, stat)
STAT_NAMED(stat64, stat64)
STAT_NAMED(lstat, stat)
STAT_NAMED(lstat64, stat64)

#define FSTAT_NAMED(name, information)                                                             \
    int name(int file, struct information *found) {                                                \
        FAIL_IF(at_descriptor(STAT, file), -1);                                                    \
        return REAL(name)(file, found);                                                            \
    }
FSTAT_NAMED(fstat, stat)
FSTAT_NAMED(fstat64, stat64)

#define FSTATAT_NAMED(name, information)                                                           \
    int name(int folder, const char *restrict path, struct information *restrict found,            \
             int flags) {                                                                          \
        FAIL_IF(at_either(STAT, folder, path, flags), -1);                                               \
        return REAL(name)(folder, path, found, flags);                                             \
    }
FSTATAT_NAMED(fstatat, stat)
FSTATAT_NAMED(fstatat64, stat64)

int statx(int folder, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict found) {
    FAIL_IF(at_either(STAT, folder, path, flags), -1);
    return REAL(statx)(folder, path, flags, mask, found);
}

int access(const char *path, int mode) {
    FAIL_IF(at_path(STAT, AT_FDCWD, path), -1);
    return REAL(access)(path, mode);
}

int faccessat(int folder, const char *path, int mode, int flags) {
    FAIL_IF(at_path(STAT, folder, path), -1);
    return REAL(faccessat)(folder, path, mode, flags);
}
