/* A load generator that speaks Kafka's wire protocol: real group members in a closed loop.
 *
 * Every connection is one member. It asks FindCoordinator, joins its group (JoinGroup v5, with the member id that the
 * first answer hands out), syncs, and then keeps a fixed number of requests in flight: Heartbeat v4 or OffsetCommit v8
 * with one partition. Each answer is checked: its correlation id must be the oldest outstanding one and its error code
 * zero; anything else is counted and makes the run fail. In echo mode frames of the same size go to an echo server.
 *
 * One thread, one epoll set, so that one core drives the server on the other. The measured window begins after the
 * warm-up; at both ends the CPU clocks of the server's processes (--cpu-of PID, nanoseconds) are read, so "CPU per
 * request" needs no other program's timing. While measuring we never sleep: to wake a sleeper costs whoever sends, and
 * a server would look the dearer, the more often it let us wait. What share of the time we had something to do tells
 * who the bottleneck was.
 *
 * Output: one JSON object on stdout. Exit 0 only if every answer was right.   Build: cc -O2 -o build/load load.c
 */
#define _GNU_SOURCE
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

enum { MAX_IN_FLIGHT = 64, MAX_ID = 128, MAX_GROUP = 256, MAX_PIDS = 64, IN_BYTES = 65536, OUT_BYTES = 32768 };
enum { OFFSET_COMMIT = 8, FIND_COORDINATOR = 10, JOIN_GROUP = 11, HEARTBEAT = 12, SYNC_GROUP = 14 };
enum { REBALANCE_IN_PROGRESS = 27, MEMBER_ID_REQUIRED = 79 };
enum mode { MODE_HEARTBEAT, MODE_COMMIT, MODE_ECHO };
enum state { FINDING, JOINING, SYNCING, SYNCED, CHECKING, DRIVING };

struct group {
    int size, generation, leader_saw; /* leader_saw: members in the leader's JoinGroup answer */
};

struct connection {
    int fd, group, index, generation, outstanding;
    enum state state;
    int32_t next_correlation, expected_correlation;
    int64_t offset, last_beat_ns;
    char member_id[MAX_ID];
    bool leads;
    uint8_t *request; /* the hot request with everything but correlation id and offset in place */
    int request_bytes, offset_at;
    int64_t sent_ns[MAX_IN_FLIGHT];
    uint8_t in[IN_BYTES], out[OUT_BYTES];
    int in_used, out_used;
    bool wants_out;
};

static struct {
    const char *host, *topic;
    int port, connections, in_flight, group_size, frame_bytes, n_pids;
    double seconds, warmup;
    int64_t count;
    enum mode mode;
    pid_t pids[MAX_PIDS];
} opt = {.host = "127.0.0.1", .topic = "bench", .connections = 100, .in_flight = 1, .group_size = 10, .frame_bytes = 80,
         .seconds = 3, .warmup = 1, .count = INT64_MAX};

static struct connection *connections;
static struct group *groups;
static int poll_fd, n_groups;
static char run_id[32];
static bool measuring, stopping;
static int64_t answered, errors, now_ns_cached, idle_ns;
static int answer_bytes; /* size of the last hot answer, for the report */
static uint64_t latency[64 * 16];

static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(2);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    if (clock_gettime(clock, &t) != 0) return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t servers_cpu_ns(void) {
    int64_t total = 0;
    for (int i = 0; i < opt.n_pids; i++) {
        clockid_t clock;
        if (clock_getcpuclockid(opt.pids[i], &clock) != 0) die("process %d is gone", (int)opt.pids[i]);
        total += clock_ns(clock);
    }
    return total;
}

/* Latencies in microseconds: 16 linear steps within each power of two, so 6 % wide at worst. */
static int bucket_of(uint64_t us) {
    if (us < 16) return (int)us;
    int power = 63 - __builtin_clzll(us);
    return (power - 3) * 16 + (int)((us >> (power - 4)) & 15);
}

static double bucket_us(int bucket) {
    if (bucket < 16) return bucket;
    return (double)((uint64_t)(16 + bucket % 16) << (bucket / 16 - 1));
}

static double percentile(double share) {
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < 64 * 16; i++) total += latency[i];
    for (int i = 0; i < 64 * 16; i++)
        if ((seen += latency[i]) > 0 && (double)seen >= share * (double)total) return bucket_us(i);
    return 0;
}

/* ---- writing: a cursor over the connection's out buffer ------------------------------------------------------- */

struct writer {
    uint8_t *start, *at;
};

static void put_int(struct writer *w, int64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) *w->at++ = (uint8_t)(value >> shift);
}
static void put_raw(struct writer *w, const void *data, size_t size) { memcpy(w->at, data, size), w->at += size; }
static void put_string(struct writer *w, const char *s) { put_int(w, (int64_t)strlen(s), 2), put_raw(w, s, strlen(s)); }
static void put_compact(struct writer *w, const char *s) { /* ids here are far below 127 bytes: a one-byte varint */
    *w->at++ = (uint8_t)(strlen(s) + 1);
    put_raw(w, s, strlen(s));
}

static struct writer begin(uint8_t *at, int api, int version, int32_t correlation, bool flexible) {
    struct writer w = {at, at + 4};
    put_int(&w, api, 2), put_int(&w, version, 2), put_int(&w, correlation, 4), put_string(&w, "bench");
    if (flexible) *w.at++ = 0;
    return w;
}

static int finish(struct writer *w) {
    int size = (int)(w->at - w->start);
    struct writer prefix = {w->start, w->start};
    put_int(&prefix, size - 4, 4);
    return size;
}

static void group_name(const struct connection *c, char *name) { sprintf(name, "bench-%s-%d", run_id, c->group); }

/* The request this connection repeats. Only the correlation id (at byte 8) and a commit's offset change. */
static void prepare_hot_request(struct connection *c) {
    uint8_t scratch[1024];
    char name[64];
    group_name(c, name);
    struct writer w;
    if (opt.mode == MODE_ECHO) {
        w = begin(scratch, HEARTBEAT, 4, 0, true);
        if (opt.frame_bytes < 32 || opt.frame_bytes > 1000) die("--frame-bytes takes 32 to 1000");
        while (w.at - w.start < opt.frame_bytes) *w.at++ = 'x';
    } else if (opt.mode == MODE_HEARTBEAT) {
        w = begin(scratch, HEARTBEAT, 4, 0, true);
        put_compact(&w, name), put_int(&w, c->generation, 4), put_compact(&w, c->member_id);
        *w.at++ = 0, *w.at++ = 0; /* no instance id; no tags */
    } else {
        w = begin(scratch, OFFSET_COMMIT, 8, 0, true);
        put_compact(&w, name), put_int(&w, c->generation, 4), put_compact(&w, c->member_id);
        *w.at++ = 0, *w.at++ = 2; /* no instance id; one topic */
        put_compact(&w, opt.topic), *w.at++ = 2, put_int(&w, c->index, 4);
        c->offset_at = (int)(w.at - w.start);
        put_int(&w, 0, 8), put_int(&w, -1, 4), *w.at++ = 1; /* offset, leader epoch, empty metadata */
        *w.at++ = 0, *w.at++ = 0, *w.at++ = 0;              /* tags of partition, topic, request */
    }
    c->request_bytes = finish(&w);
    c->request = malloc((size_t)c->request_bytes);
    memcpy(c->request, scratch, (size_t)c->request_bytes);
}

static void watch(struct connection *c) {
    struct epoll_event e = {.events = EPOLLIN | (c->wants_out ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

static void flush_out(struct connection *c) {
    int done = 0;
    while (done < c->out_used) {
        ssize_t n = send(c->fd, c->out + done, (size_t)(c->out_used - done), MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n < 0) die("connection %d of group %d: send: %s", c->index, c->group, strerror(errno));
        done += (int)n;
    }
    if (done) memmove(c->out, c->out + done, (size_t)(c->out_used - done));
    c->out_used -= done;
    if (c->wants_out != (c->out_used > 0)) c->wants_out = !c->wants_out, watch(c);
}

static void queue_hot(struct connection *c, int64_t now) {
    if (c->out_used + c->request_bytes > OUT_BYTES) die("out buffer full");
    uint8_t *at = c->out + c->out_used;
    memcpy(at, c->request, (size_t)c->request_bytes);
    struct writer w = {at, at + 8};
    put_int(&w, c->next_correlation, 4);
    if (c->offset_at) w.at = at + c->offset_at, put_int(&w, ++c->offset, 8);
    c->sent_ns[c->next_correlation % MAX_IN_FLIGHT] = now;
    c->next_correlation++, c->outstanding++;
    c->out_used += c->request_bytes;
}

static void send_setup(struct connection *c, struct writer *w, enum state state) {
    c->out_used += finish(w);
    c->next_correlation++, c->outstanding++, c->state = state;
    flush_out(c);
}

static struct writer begin_setup(struct connection *c, int api, int version) {
    return begin(c->out + c->out_used, api, version, c->next_correlation, false);
}

static void send_find(struct connection *c) {
    char name[64];
    group_name(c, name);
    struct writer w = begin_setup(c, FIND_COORDINATOR, 2);
    put_string(&w, name), put_int(&w, 0, 1);
    send_setup(c, &w, FINDING);
}

static void send_join(struct connection *c) {
    char name[64];
    group_name(c, name);
    struct writer w = begin_setup(c, JOIN_GROUP, 5);
    put_string(&w, name), put_int(&w, 60000, 4), put_int(&w, 60000, 4); /* session and rebalance timeout */
    put_string(&w, c->member_id), put_int(&w, -1, 2), put_string(&w, "consumer");
    put_int(&w, 1, 4), put_string(&w, "range");
    put_int(&w, 2 + 4 + 2 + (int)strlen(opt.topic) + 4, 4); /* subscription v0: one topic, no user data */
    put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, opt.topic), put_int(&w, -1, 4);
    send_setup(c, &w, JOINING);
}

static void send_sync(struct connection *c, char (*members)[MAX_ID], int n_members) {
    char name[64];
    group_name(c, name);
    struct writer w = begin_setup(c, SYNC_GROUP, 3);
    put_string(&w, name), put_int(&w, c->generation, 4), put_string(&w, c->member_id), put_int(&w, -1, 2);
    put_int(&w, n_members, 4);
    for (int i = 0; i < n_members; i++) { /* assignment v0: partition i for the i-th member */
        put_string(&w, members[i]);
        put_int(&w, 2 + 4 + 2 + (int)strlen(opt.topic) + 4 + 4 + 4, 4);
        put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, opt.topic), put_int(&w, 1, 4), put_int(&w, i, 4);
        put_int(&w, -1, 4);
    }
    send_setup(c, &w, SYNCING);
}

static void send_check(struct connection *c) { /* during set-up: has the group begun another rebalance? */
    char name[64];
    group_name(c, name);
    struct writer w = begin_setup(c, HEARTBEAT, 3);
    put_string(&w, name), put_int(&w, c->generation, 4), put_string(&w, c->member_id), put_int(&w, -1, 2);
    send_setup(c, &w, CHECKING);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static int64_t get_int(struct reader *r, int bytes) {
    if (r->end - r->at < bytes) die("an answer ends early");
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | *r->at++;
    int unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

static void get_string(struct reader *r, char *into) { /* null reads as empty; into may be NULL */
    int64_t size = get_int(r, 2);
    if (size < 0) size = 0;
    if (r->end - r->at < size || size >= MAX_ID) die("a string of %d bytes in an answer", (int)size);
    if (into) memcpy(into, r->at, (size_t)size), into[size] = 0;
    r->at += size;
}

static void setup_failed(const struct connection *c, const char *api, int error) {
    die("%s of member %d in group %d was answered with error %d", api, c->index, c->group, error);
}

static void handle_join(struct connection *c, struct reader *r) {
    static char members[MAX_GROUP][MAX_ID];
    char leader[MAX_ID], protocol[MAX_ID];
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    c->generation = (int)get_int(r, 4);
    get_string(r, protocol), get_string(r, leader), get_string(r, c->member_id);
    if (error == MEMBER_ID_REQUIRED || error == REBALANCE_IN_PROGRESS) {
        send_join(c);
        return;
    }
    if (error) setup_failed(c, "JoinGroup", error);
    int n_members = (int)get_int(r, 4);
    c->leads = strcmp(leader, c->member_id) == 0;
    if (n_members > MAX_GROUP || (n_members > 0) != c->leads) die("JoinGroup: %d members in an answer", n_members);
    for (int i = 0; i < n_members; i++) {
        get_string(r, members[i]), get_string(r, NULL);
        int64_t metadata = get_int(r, 4);
        if (metadata < 0 || r->end - r->at < metadata) die("JoinGroup: bad metadata in an answer");
        r->at += metadata;
    }
    if (c->leads) groups[c->group].generation = c->generation, groups[c->group].leader_saw = n_members;
    send_sync(c, members, n_members);
}

static void handle_setup(struct connection *c, struct reader *r) {
    int error;
    switch (c->state) {
    case FINDING:
        get_int(r, 4);
        if ((error = (int)get_int(r, 2))) setup_failed(c, "FindCoordinator", error);
        get_string(r, NULL), get_int(r, 4), get_string(r, NULL);
        int port = (int)get_int(r, 4);
        if (port != opt.port) die("FindCoordinator names port %d, we are on %d", port, opt.port);
        send_join(c);
        break;
    case JOINING: handle_join(c, r); break;
    case SYNCING:
    case CHECKING:
        get_int(r, 4);
        error = (int)get_int(r, 2);
        if (error == REBALANCE_IN_PROGRESS) send_join(c);
        else if (error) setup_failed(c, c->state == SYNCING ? "SyncGroup" : "Heartbeat", error);
        else c->state = SYNCED, c->last_beat_ns = now_ns_cached;
        break;
    default: die("an answer nobody asked for");
    }
}

/* True if the answer is right. Heartbeat v4: throttle, error, tags. OffsetCommit v8: throttle, one topic, one error. */
static bool check_hot(struct connection *c, struct reader r, const uint8_t *frame, int size) {
    if (opt.mode == MODE_ECHO)
        return size == c->request_bytes - 4 && memcmp(frame + 8, c->request + 12, (size_t)size - 8) == 0;
    get_int(&r, 1);
    get_int(&r, 4);
    int error;
    if (opt.mode == MODE_HEARTBEAT) {
        error = (int)get_int(&r, 2);
    } else {
        if (get_int(&r, 1) != 2) return false;
        r.at += get_int(&r, 1) - 1;
        if (get_int(&r, 1) != 2 || get_int(&r, 4) != c->index) return false;
        error = (int)get_int(&r, 2);
    }
    if (error && errors < 5) fprintf(stderr, "load: member %d of group %d got error %d\n", c->index, c->group, error);
    return error == 0;
}

static void handle_hot(struct connection *c, struct reader r, const uint8_t *frame, int size, int32_t correlation) {
    if (!check_hot(c, r, frame, size)) errors++;
    answer_bytes = size + 4;
    if (measuring) {
        answered++;
        latency[bucket_of((uint64_t)(now_ns_cached - c->sent_ns[correlation % MAX_IN_FLIGHT]) / 1000)]++;
    }
    if (!stopping) queue_hot(c, now_ns_cached);
}

static void handle_readable(struct connection *c) {
    ssize_t n = recv(c->fd, c->in + c->in_used, (size_t)(IN_BYTES - c->in_used), 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) die("the server closed connection %d of group %d", c->index, c->group);
    c->in_used += (int)n;
    int at = 0;
    while (c->in_used - at >= 8) {
        struct reader r = {c->in + at, c->in + c->in_used};
        int64_t size = get_int(&r, 4);
        if (size < 4 || size > IN_BYTES - 4) die("an answer of %" PRId64 " bytes", size);
        if (c->in_used - at < size + 4) break;
        const uint8_t *frame = r.at;
        r.end = frame + size;
        bool echo = opt.mode == MODE_ECHO; /* there the frame is our own: key and version come first */
        if (echo) get_int(&r, 4);
        int32_t correlation = (int32_t)get_int(&r, 4);
        if (correlation != c->expected_correlation)
            die("answer %d where %d was due: out of order", correlation, c->expected_correlation);
        c->expected_correlation++, c->outstanding--;
        if (c->state == DRIVING) handle_hot(c, r, frame, (int)size, correlation);
        else handle_setup(c, &r);
        at += (int)size + 4;
    }
    if (at) memmove(c->in, c->in + at, (size_t)(c->in_used - at));
    c->in_used -= at;
    if (c->out_used) flush_out(c);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void turn(int timeout_ms) {
    static struct epoll_event events[1024];
    int n = epoll_wait(poll_fd, events, 1024, timeout_ms);
    if (n < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    int64_t before = now_ns_cached;
    now_ns_cached = clock_ns(CLOCK_MONOTONIC);
    if (n == 0) idle_ns += now_ns_cached - before;
    for (int i = 0; i < n; i++) {
        struct connection *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) flush_out(c);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) handle_readable(c);
    }
}

static void open_connections(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)opt.port)};
    if (inet_pton(AF_INET, opt.host, &address.sin_addr) != 1) die("--host takes an IPv4 address");
    for (int i = 0; i < opt.connections; i++) {
        struct connection *c = &connections[i];
        c->group = i / opt.group_size, c->index = i % opt.group_size;
        groups[c->group].size++;
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
            die("connection %d: %s (see ulimit -n)", i, strerror(errno));
        int yes = 1;
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &e);
    }
}

static bool every_group_is_stable(void) {
    for (int i = 0; i < opt.connections; i++) {
        struct connection *c = &connections[i];
        const struct group *g = &groups[c->group];
        if (c->state != SYNCED || c->generation != g->generation || g->leader_saw != g->size) return false;
    }
    return true;
}

static void set_up_groups(void) {
    int64_t deadline = clock_ns(CLOCK_MONOTONIC) + 60000000000;
    for (int i = 0; i < opt.connections; i++) send_find(&connections[i]);
    while (!every_group_is_stable()) {
        turn(20);
        if (now_ns_cached > deadline) die("the groups did not become stable within 60 seconds");
        for (int i = 0; i < opt.connections; i++) {
            struct connection *c = &connections[i];
            if (c->state == SYNCED && now_ns_cached - c->last_beat_ns > 200000000) send_check(c);
        }
    }
}

static void parse_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value) die("%s needs a value", name);
        if (!strcmp(name, "--host")) opt.host = value;
        else if (!strcmp(name, "--topic")) opt.topic = value;
        else if (!strcmp(name, "--port")) opt.port = atoi(value);
        else if (!strcmp(name, "--connections")) opt.connections = atoi(value);
        else if (!strcmp(name, "--in-flight")) opt.in_flight = atoi(value);
        else if (!strcmp(name, "--group-size")) opt.group_size = atoi(value);
        else if (!strcmp(name, "--frame-bytes")) opt.frame_bytes = atoi(value);
        else if (!strcmp(name, "--seconds")) opt.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) opt.warmup = atof(value);
        else if (!strcmp(name, "--count")) opt.count = atoll(value);
        else if (!strcmp(name, "--cpu-of") && opt.n_pids < MAX_PIDS) opt.pids[opt.n_pids++] = atoi(value);
        else if (!strcmp(name, "--mode") && !strcmp(value, "heartbeat")) opt.mode = MODE_HEARTBEAT;
        else if (!strcmp(name, "--mode") && !strcmp(value, "commit")) opt.mode = MODE_COMMIT;
        else if (!strcmp(name, "--mode") && !strcmp(value, "echo")) opt.mode = MODE_ECHO;
        else die("unknown option %s %s", name, value);
    }
    if (opt.port <= 0) die("--port is missing");
    if (opt.connections < 1 || opt.group_size < 1 || opt.group_size > MAX_GROUP) die("--connections or --group-size");
    if (opt.in_flight < 1 || opt.in_flight > MAX_IN_FLIGHT) die("--in-flight takes 1 to %d", MAX_IN_FLIGHT);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    parse_options(argc, argv);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    snprintf(run_id, sizeof run_id, "%d-%" PRId64, (int)getpid(), clock_ns(CLOCK_REALTIME) % 1000000000);
    n_groups = (opt.connections + opt.group_size - 1) / opt.group_size;
    connections = calloc((size_t)opt.connections, sizeof *connections);
    groups = calloc((size_t)n_groups, sizeof *groups);
    poll_fd = epoll_create1(0);
    if (!connections || !groups || poll_fd < 0) die("out of memory or files");

    open_connections();
    int64_t setup_from = clock_ns(CLOCK_MONOTONIC);
    if (opt.mode != MODE_ECHO) set_up_groups();
    double setup_seconds = (double)(clock_ns(CLOCK_MONOTONIC) - setup_from) / 1e9;

    now_ns_cached = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < opt.connections; i++) {
        struct connection *c = &connections[i];
        prepare_hot_request(c);
        c->state = DRIVING;
        for (int k = 0; k < opt.in_flight; k++) queue_hot(c, now_ns_cached);
        flush_out(c);
    }
    int64_t warm_until = now_ns_cached + (int64_t)(opt.warmup * 1e9);
    while (now_ns_cached < warm_until) turn(0);

    measuring = true;
    int64_t from_ns = clock_ns(CLOCK_MONOTONIC), until_ns = from_ns + (int64_t)(opt.seconds * 1e9);
    int64_t server_from = servers_cpu_ns();
    idle_ns = 0;
    while (now_ns_cached < until_ns && answered < opt.count) turn(0);
    int64_t server_ns = servers_cpu_ns() - server_from;
    double wall = (double)(clock_ns(CLOCK_MONOTONIC) - from_ns) / 1e9;
    measuring = false;

    stopping = true; /* take every answer that is still due: a lost one is an error */
    int64_t drain_until = clock_ns(CLOCK_MONOTONIC) + 10000000000, missing = 0;
    do {
        missing = 0;
        for (int i = 0; i < opt.connections; i++) missing += connections[i].outstanding;
        if (missing) turn(100);
    } while (missing && now_ns_cached < drain_until);
    errors += missing;

    double server_share = (double)server_ns / 1e9 / wall, own_share = 1 - (double)idle_ns / 1e9 / wall;
    printf("{\"requests\": %" PRId64 ", \"errors\": %" PRId64 ", \"seconds\": %.3f, \"setup_seconds\": %.3f, "
           "\"requests_per_second\": %.0f, \"server_cpu_us_per_request\": %.3f, \"requests_per_server_cpu_second\": %.0f, "
           "\"server_cpu_share\": %.3f, \"generator_busy_share\": %.3f, \"generator_is_the_bottleneck\": %s, "
           "\"request_bytes\": %d, \"answer_bytes\": %d, \"p50_us\": %.0f, \"p99_us\": %.0f, \"max_us\": %.0f}\n",
           answered, errors, wall, setup_seconds, (double)answered / wall,
           answered ? (double)server_ns / 1e3 / (double)answered : 0,
           server_ns ? (double)answered / ((double)server_ns / 1e9) : 0, server_share, own_share,
           own_share > 0.9 && own_share > server_share ? "true" : "false", connections[0].request_bytes, answer_bytes,
           percentile(0.5), percentile(0.99), percentile(1));
    return errors || answered == 0 ? 1 : 0;
}
