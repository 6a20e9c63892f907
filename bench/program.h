/* What is around a load, whatever the load is: giving up, the clock, the CPU time of the server's processes, sockets.
 *
 * One thread and one epoll set drive all connections. A program that sees something wrong says so and ends with 2: in a
 * benchmark a figure that may be wrong is worth nothing.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PIDS = 64 };

static int poll_fd;
static char run_id[32]; /* in the names of groups, so that no run meets those of another */
static pid_t servers[MAX_PIDS];
static int n_servers;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(2);
}

static inline int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t) != 0) return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* First of all: as many files as there may be, and what every program has one of. */
static void set_up_program(void) {
    struct rlimit files;
    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    snprintf(run_id, sizeof run_id, "%d-%" PRId64, (int)getpid(), clock_ns(CLOCK_REALTIME) % 1000000000);
    poll_fd = epoll_create1(0);
    if (poll_fd < 0) die("out of files");
}

/* ---- the server's processes (--cpu-of PID) ----------------------------------------------------------------------- */

static void add_server(const char *pid) {
    if (n_servers == MAX_PIDS) die("--cpu-of takes %d processes", MAX_PIDS);
    servers[n_servers++] = atoi(pid);
}

/* A child of the server that has ended since, as a compaction does, counts with what it had used when last seen. */
static int64_t servers_cpu_ns(void) {
    static int64_t used_ns[MAX_PIDS];
    int64_t total = 0;
    for (int i = 0; i < n_servers; i++) {
        clockid_t clock;
        if (clock_getcpuclockid(servers[i], &clock) == 0)
            used_ns[i] = clock_ns(clock);
        else if (i == 0)
            die("process %d is gone", (int)servers[i]);
        total += used_ns[i];
    }
    return total;
}

/* ---- sockets ---------------------------------------------------------------------------------------------------- */

static int connect_to(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) die("--host takes an IPv4 address");
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("port %d: %s (see ulimit -n)", port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

/* From now on epoll tells of answers on this connection, as `what`, and nothing that is done with it blocks. */
static void watch(int fd, void *what) {
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &e);
}

/* Sends what the socket takes and moves the rest to the front; returns how much that is. While there is a rest,
 * `*waits` is true and epoll tells when the socket takes more. */
static size_t send_some(int fd, void *what, uint8_t *data, size_t size, bool *waits) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = send(fd, data + done, size - done, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n < 0) die("send: %s", strerror(errno));
        done += (size_t)n;
    }
    if (done) memmove(data, data + done, size - done);
    if (*waits != (done < size)) {
        *waits = !*waits;
        struct epoll_event e = {.events = EPOLLIN | (*waits ? EPOLLOUT : 0u), .data.ptr = what};
        epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &e);
    }
    return size - done;
}

#endif
