/* The floor: an epoll server that sends every byte back, so that whatever it costs is the kernel's price.
 *
 * Usage: echo PORT_FILE. Listens on 127.0.0.1 at a free port and writes its number to PORT_FILE when ready.
 * One thread; one read and one write per wake-up of a connection.   Build: cc -O2 -o build/echo echo.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void announce(int port, const char *path) { /* under another name first, so that no reader sees half a number */
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file || fprintf(file, "%d\n", port) < 0 || fclose(file) != 0 || rename(temporary, path) != 0) {
        perror(path);
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: echo PORT_FILE\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("listen");
        return 2;
    }
    int poll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event);
    announce(ntohs(address.sin_port), argv[1]);
    static struct epoll_event events[1024];
    static char buffer[262144];
    for (;;) {
        int n = epoll_wait(poll_fd, events, 1024, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                int client;
                while ((client = accept4(listener, NULL, NULL, 0)) >= 0) { /* blocking: a closed loop reads promptly */
                    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                    event = (struct epoll_event){.events = EPOLLIN, .data.fd = client};
                    epoll_ctl(poll_fd, EPOLL_CTL_ADD, client, &event);
                }
                continue;
            }
            ssize_t got = recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0 || send(fd, buffer, (size_t)got, MSG_NOSIGNAL) != got) close(fd);
        }
    }
}
