/* Preloaded by tests/test_faults.py: counts what is written below one folder, and lets the n-th call go wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NONE, FAIL, SHORT, FULL, KILL, TEAR };

static char folder[PATH_MAX];
static int mode = NONE, only_syncs = 0;
static long wanted = 0, seen = 0;

void fault_arm(const char *below, int what, int syncs, long n) {
    snprintf(folder, sizeof folder, "%s", below);
    mode = what, only_syncs = syncs, wanted = n, seen = 0;
}

long fault_seen(void) { return seen; }

static int is_ours(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether this call is the one; a full disk stays full. */
static int is_due(int is_sync) {
    if (only_syncs && !is_sync) return 0;
    seen++;
    if (mode == KILL && seen == wanted) kill(getpid(), SIGKILL);
    return mode == FULL ? wanted && seen >= wanted && !is_sync : mode != NONE && seen == wanted;
}

static ssize_t go_wrong(ssize_t (*half)(int, const void *, size_t, off_t), int fd, const void *data, size_t n, off_t at) {
    if (mode == TEAR) {
        half(fd, data, n / 2, at);
        kill(getpid(), SIGKILL);
    }
    if (mode == SHORT && n > 1) return half(fd, data, n / 2, at);
    errno = mode == FULL ? ENOSPC : EIO;
    return -1;
}

static ssize_t plain_write(int fd, const void *data, size_t n, off_t at) {
    static ssize_t (*real)(int, const void *, size_t);
    (void)at;
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return real(fd, data, n);
}

static ssize_t write_at(int fd, const void *data, size_t n, off_t at) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, data, n, at);
}

ssize_t write(int fd, const void *data, size_t n) {
    return is_ours(fd) && is_due(0) ? go_wrong(plain_write, fd, data, n, 0) : plain_write(fd, data, n, 0);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    return is_ours(fd) && is_due(0) ? go_wrong(write_at, fd, data, n, at) : write_at(fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { return pwrite(fd, data, n, at); }

static int synced(const char *name, int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    if (is_ours(fd) && is_due(1)) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int fsync(int fd) { return synced("fsync", fd); }

int fdatasync(int fd) { return synced("fdatasync", fd); }
