/* Replaces the C library's functions for files: each asks decide.c first, then calls the real one.
 * Built into a library that the dynamic linker loads first (LD_PRELOAD); decide.c documents the
 * environment variables that control it. On a 64-bit machine, the names that end in 64 are other
 * symbols for the same functions: Rust calls those, C calls the others. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "faults.h"

_Static_assert(sizeof(off_t) == sizeof(off64_t), "written for 64-bit machines");

void *real_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "faults: the C library has no %s\n", name);
        abort();
    }
    return found;
}

/* About half of the bytes, and at least one: 0 would mean the end of the file. */
static size_t asked_for(int verdict, size_t bytes) {
    return verdict == CUT_SHORT ? bytes / 2 + bytes % 2 : bytes;
}

static int makes_a_file(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The third or fourth argument of open, which callers pass for new files only. */
#define MODE_BEHIND(flags, mode)                                                                   \
    mode_t mode = 0;                                                                               \
    if (makes_a_file(flags)) {                                                                     \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

#define OPEN_NAMED(name)                                                                           \
    int name(const char *path, int flags, ...) {                                                   \
        MODE_BEHIND(flags, mode)                                                                   \
        FAIL_IF(at_path(OPEN, AT_FDCWD, path), -1);                                                \
        return REAL(name)(path, flags, mode);                                                      \
    }
OPEN_NAMED(open)
OPEN_NAMED(open64)

#define OPENAT_NAMED(name)                                                                         \
    int name(int folder, const char *path, int flags, ...) {                                       \
        MODE_BEHIND(flags, mode)                                                                   \
        FAIL_IF(at_path(OPEN, folder, path), -1);                                                  \
        return REAL(name)(folder, path, flags, mode);                                              \
    }
OPENAT_NAMED(openat)
OPENAT_NAMED(openat64)

#define CREAT_NAMED(name)                                                                          \
    int name(const char *path, mode_t mode) {                                                      \
        FAIL_IF(at_path(OPEN, AT_FDCWD, path), -1);                                                \
        return REAL(name)(path, mode);                                                             \
    }
CREAT_NAMED(creat)
CREAT_NAMED(creat64)

DIR *opendir(const char *path) {
    FAIL_IF(at_path(OPEN, AT_FDCWD, path), NULL);
    return REAL(opendir)(path);
}

struct dirent *readdir(DIR *folder) {
    FAIL_IF(at_descriptor(LIST, dirfd(folder)), NULL);
    return REAL(readdir)(folder);
}

struct dirent64 *readdir64(DIR *folder) {
    FAIL_IF(at_descriptor(LIST, dirfd(folder)), NULL);
    return REAL(readdir64)(folder);
}

ssize_t read(int file, void *bytes, size_t count) {
    int verdict = at_descriptor(READ, file);
    FAIL_IF(verdict, -1);
    return REAL(read)(file, bytes, asked_for(verdict, count));
}

ssize_t write(int file, const void *bytes, size_t count) {
    int verdict = at_descriptor(WRITE, file);
    FAIL_IF(verdict, -1);
    return REAL(write)(file, bytes, asked_for(verdict, count));
}

#define PREAD_NAMED(name)                                                                          \
    ssize_t name(int file, void *bytes, size_t count, off_t offset) {                              \
        int verdict = at_descriptor(READ, file);                                                   \
        FAIL_IF(verdict, -1);                                                                      \
        return REAL(name)(file, bytes, asked_for(verdict, count), offset);                         \
    }
PREAD_NAMED(pread)
PREAD_NAMED(pread64)

#define PWRITE_NAMED(name)                                                                         \
    ssize_t name(int file, const void *bytes, size_t count, off_t offset) {                        \
        int verdict = at_descriptor(WRITE, file);                                                  \
        FAIL_IF(verdict, -1);                                                                      \
        return REAL(name)(file, bytes, asked_for(verdict, count), offset);                         \
    }
PWRITE_NAMED(pwrite)
PWRITE_NAMED(pwrite64)

ssize_t readv(int file, const struct iovec *parts, int count) {
    int verdict = at_descriptor(READ, file);
    FAIL_IF(verdict, -1);
    if (verdict == CUT_SHORT && count > 0) {
        return REAL(read)(file, parts[0].iov_base, asked_for(verdict, parts[0].iov_len));
    }
    return REAL(readv)(file, parts, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    int verdict = at_descriptor(WRITE, file);
    FAIL_IF(verdict, -1);
    if (verdict == CUT_SHORT && count > 0) {
        return REAL(write)(file, parts[0].iov_base, asked_for(verdict, parts[0].iov_len));
    }
    return REAL(writev)(file, parts, count);
}

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count,
                        unsigned flags) {
    FAIL_IF(at_descriptor(READ, from), -1);
    int verdict = at_descriptor(WRITE, to);
    FAIL_IF(verdict, -1);
    count = asked_for(verdict, count);
    return REAL(copy_file_range)(from, from_offset, to, to_offset, count, flags);
}

#define SENDFILE_NAMED(name)                                                                       \
    ssize_t name(int to, int from, off_t *offset, size_t count) {                                  \
        FAIL_IF(at_descriptor(READ, from), -1);                                                    \
        int verdict = at_descriptor(WRITE, to);                                                    \
        FAIL_IF(verdict, -1);                                                                      \
        return REAL(name)(to, from, offset, asked_for(verdict, count));                            \
    }
SENDFILE_NAMED(sendfile)
SENDFILE_NAMED(sendfile64)

#define SYNC_NAMED(name)                                                                           \
    int name(int file) {                                                                           \
        FAIL_IF(at_descriptor(SYNC, file), -1);                                                    \
        return without_sync() ? 0 : REAL(name)(file);                                              \
    }
SYNC_NAMED(fsync)
SYNC_NAMED(fdatasync)

#define TRUNCATE_NAMED(name)                                                                       \
    int name(const char *path, off_t bytes) {                                                      \
        FAIL_IF(at_path(TRUNCATE, AT_FDCWD, path), -1);                                            \
        return REAL(name)(path, bytes);                                                            \
    }
TRUNCATE_NAMED(truncate)
TRUNCATE_NAMED(truncate64)

#define FTRUNCATE_NAMED(name)                                                                      \
    int name(int file, off_t bytes) {                                                              \
        FAIL_IF(at_descriptor(TRUNCATE, file), -1);                                                \
        return REAL(name)(file, bytes);                                                            \
    }
FTRUNCATE_NAMED(ftruncate)
FTRUNCATE_NAMED(ftruncate64)

#define RENAME_NAMED(name)                                                                         \
    int name(const char *from, const char *to) {                                                   \
        FAIL_IF(at_path(RENAME, AT_FDCWD, from), -1);                                              \
        return REAL(name)(from, to);                                                               \
    }
RENAME_NAMED(rename)
RENAME_NAMED(link)

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    FAIL_IF(at_path(RENAME, from_folder, from), -1);
    return REAL(renameat)(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    FAIL_IF(at_path(RENAME, from_folder, from), -1);
    return REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    FAIL_IF(at_path(RENAME, from_folder, from), -1);
    return REAL(linkat)(from_folder, from, to_folder, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    FAIL_IF(at_path(MKDIR, AT_FDCWD, path), -1);
    return REAL(mkdir)(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    FAIL_IF(at_path(MKDIR, folder, path), -1);
    return REAL(mkdirat)(folder, path, mode);
}

#define UNLINK_NAMED(name)                                                                         \
    int name(const char *path) {                                                                   \
        FAIL_IF(at_path(UNLINK, AT_FDCWD, path), -1);                                              \
        return REAL(name)(path);                                                                   \
    }
UNLINK_NAMED(unlink)
UNLINK_NAMED(rmdir)

int unlinkat(int folder, const char *path, int flags) {
    FAIL_IF(at_path(UNLINK, folder, path), -1);
    return REAL(unlinkat)(folder, path, flags);
}

int flock(int file, int operation) {
    if ((operation & LOCK_UN) == 0) {
        FAIL_IF(at_descriptor(LOCK, file), -1);
    }
    return REAL(flock)(file, operation);
}

/* Every command of fcntl takes a number, a pointer or nothing: one register holds either. */
#define FCNTL_NAMED(name)                                                                          \
    int name(int file, int command, ...) {                                                         \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||                 \
            command == F_OFD_SETLKW) {                                                             \
            if (((struct flock *)argument)->l_type != F_UNLCK) {                                   \
                FAIL_IF(at_descriptor(LOCK, file), -1);                                            \
            }                                                                                      \
        }                                                                                          \
        return REAL(name)(file, command, argument);                                                \
    }
FCNTL_NAMED(fcntl)
FCNTL_NAMED(fcntl64)

#define MMAP_NAMED(name)                                                                           \
    void *name(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {   \
        if ((flags & MAP_ANONYMOUS) == 0) {                                                        \
            FAIL_IF(at_descriptor(MAP, file), MAP_FAILED);                                         \
        }                                                                                          \
        return REAL(name)(address, bytes, protection, flags, file, offset);                        \
    }
MMAP_NAMED(mmap)
MMAP_NAMED(mmap64)
