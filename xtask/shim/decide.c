/* Counts calls and decides which of them fails. The settings come from the environment:
 *
 *   FAULTS_BELOW    only calls on this absolute path or on paths below it
 *   FAULTS_KINDS    only calls of these kinds, separated by commas [default: all]
 *   FAULTS_PATH     only calls on exactly this path [default: any]
 *   FAULTS_AT       the number of the one call, counted from 1, at which something happens
 *   FAULTS_DO       what happens: `kill` (SIGKILL before the call), `short` (the real call gets a
 *                   smaller size), or the name or number of an errno that the call fails with
 *   FAULTS_STAYS    any value: every later call of these kinds fails as well, on any path below,
 *                   as on a full disk
 *   FAULTS_LOG      file to append to: a line `kind path` for every counted call, or with FAULTS_AT
 *                   for that one call
 *   FAULTS_NO_SYNC  any value: syncs are counted but not made. A kill loses no written data, so
 *                   this saves time and changes no outcome
 *   FAULTS_SECONDS  SIGALRM ends the process after this time, so that no run hangs
 *
 * Without FAULTS_BELOW nothing is counted and nothing fails. The path of an open file comes
 * from /proc/self/fd, so that renamed and inherited files need no table.
 * System calls are made directly here: calls.c replaces the functions of the C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"

enum { KILL = -2, PATH_BYTES = 2 * PATH_MAX };

static const char *const kind_names[KINDS] = {
    [OPEN] = "open",     [READ] = "read",         [WRITE] = "write", [SYNC] = "sync",
    [RENAME] = "rename", [TRUNCATE] = "truncate", [MKDIR] = "mkdir", [UNLINK] = "unlink",
    [STAT] = "stat",     [LOCK] = "lock",         [LIST] = "list",   [MAP] = "map",
};

static const struct {
    const char *name;
    int value;
} actions[] = {
    {"kill", KILL},     {"short", CUT_SHORT}, {"EIO", EIO},       {"ENOSPC", ENOSPC},
    {"EINTR", EINTR},   {"EMFILE", EMFILE},   {"EACCES", EACCES}, {"ENOLCK", ENOLCK},
    {"ENOMEM", ENOMEM}, {"ENODEV", ENODEV},   {"EROFS", EROFS},   {"ESTALE", ESTALE},
};

static const char *below;
static const char *only_path;
static const char *log_path;
static int counted_kinds[KINDS];
static int skip_sync;
static int stays;
static long fires_at;
static int action;
static atomic_long calls;
static atomic_int fired;

/* An invalid setting must not pass for a run without faults. */
static void refuse(const char *name, const char *value) {
    fprintf(stderr, "faults: invalid setting %s=%s\n", name, value);
    _exit(125);
}

static int action_named(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return actions[i].value;
        }
    }
    char *end;
    long number = strtol(name, &end, 10);
    if (*name == '\0' || *end != '\0' || number <= 0 || number > 4095) {
        refuse("FAULTS_DO", name);
    }
    return (int)number;
}

static void count_kinds(const char *list) {
    for (int kind = 0; kind < KINDS; kind++) {
        counted_kinds[kind] = list == NULL;
    }
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ",");
        int kind = 0;
        while (kind < KINDS && (strlen(kind_names[kind]) != length ||
                                strncmp(kind_names[kind], list, length) != 0)) {
            kind++;
        }
        if (kind == KINDS) {
            refuse("FAULTS_KINDS", list);
        }
        counted_kinds[kind] = 1;
        list += length + (list[length] == ',');
    }
}

static long number(const char *name) {
    const char *text = getenv(name);
    if (text == NULL) {
        return 0;
    }
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1) {
        refuse(name, text);
    }
    return value;
}

/* Calls by threads that a library starts before this are not counted: no library starts any. */
__attribute__((constructor)) static void configure(void) {
    const char *prefix = getenv("FAULTS_BELOW");
    if (prefix == NULL) {
        return;
    }
    count_kinds(getenv("FAULTS_KINDS"));
    only_path = getenv("FAULTS_PATH");
    log_path = getenv("FAULTS_LOG");
    skip_sync = getenv("FAULTS_NO_SYNC") != NULL;
    stays = getenv("FAULTS_STAYS") != NULL;
    fires_at = number("FAULTS_AT");
    if (fires_at != 0) {
        const char *wanted = getenv("FAULTS_DO");
        action = action_named(wanted == NULL ? "" : wanted);
    }
    alarm((unsigned)number("FAULTS_SECONDS"));
    below = prefix;
}

int without_sync(void) { return skip_sync; }

static int read_link(const char *link, char *path, size_t bytes) {
    long length = syscall(SYS_readlink, link, path, bytes - 1);
    if (length < 0) {
        return 0;
    }
    path[length] = '\0';
    return 1;
}

static int path_of_descriptor(int descriptor, char *path, size_t bytes) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return read_link(link, path, bytes);
}

/* An absolute path without `.` and double or final slashes; links stay. */
static int absolute(int folder, const char *path, char *whole, size_t bytes) {
    size_t length = 0;
    if (path[0] != '/') {
        int known = folder == AT_FDCWD ? read_link("/proc/self/cwd", whole, bytes)
                                       : path_of_descriptor(folder, whole, bytes);
        if (!known) {
            return 0;
        }
        length = strlen(whole);
    }
    while (*path != '\0') {
        size_t part = strcspn(path, "/");
        if (part > 0 && !(part == 1 && path[0] == '.')) {
            if (length + part + 2 > bytes) {
                return 0;
            }
            whole[length++] = '/';
            memcpy(whole + length, path, part);
            length += part;
        }
        path += part + (path[part] == '/');
    }
    whole[length] = '\0';
    return 1;
}

static int lies_below(const char *path) {
    size_t length = strlen(below);
    return strncmp(path, below, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static void note(enum kind kind, const char *path) {
    char line[PATH_BYTES + 32];
    int length = snprintf(line, sizeof line, "%s %s\n", kind_names[kind], path);
    long log = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                       0644);
    if (log < 0 || syscall(SYS_write, log, line, (size_t)length) != length) {
        refuse("FAULTS_LOG", log_path);
    }
    syscall(SYS_close, log);
}

static int decide(enum kind kind, const char *path) {
    if (stays && atomic_load(&fired) && lies_below(path)) {
        return action;
    }
    if (!lies_below(path) || (only_path != NULL && strcmp(only_path, path) != 0)) {
        return PROCEED;
    }
    int here = atomic_fetch_add(&calls, 1) + 1 == fires_at;
    if (log_path != NULL && (here || fires_at == 0)) {
        note(kind, path);
    }
    if (here && action == KILL) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) {
            syscall(SYS_pause);
        }
    }
    if (here) {
        atomic_store(&fired, 1);
        return action;
    }
    return PROCEED;
}

int at_path(enum kind kind, int folder, const char *path) {
    if (below == NULL || !counted_kinds[kind]) {
        return PROCEED;
    }
    int saved = errno;
    char whole[PATH_BYTES];
    int verdict =
        absolute(folder, path, whole, sizeof whole) ? decide(kind, whole) : PROCEED;
    errno = saved;
    return verdict;
}

int at_descriptor(enum kind kind, int descriptor) {
    if (below == NULL || !counted_kinds[kind]) {
        return PROCEED;
    }
    int saved = errno;
    char whole[PATH_BYTES];
    int verdict =
        path_of_descriptor(descriptor, whole, sizeof whole) ? decide(kind, whole) : PROCEED;
    errno = saved;
    return verdict;
}

int at_either(enum kind kind, int descriptor, const char *path, int flags) {
    if (path == NULL) {
        return PROCEED;
    }
    int itself = (flags & AT_EMPTY_PATH) != 0 && path[0] == '\0';
    return itself ? at_descriptor(kind, descriptor) : at_path(kind, descriptor, path);
}
