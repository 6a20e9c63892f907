/* Rebalance storms: all members of one or of many groups join and sync at once, and how long that takes the server.
 *
 * Every connection is one member that follows the protocol as a client does: FindCoordinator (and on to the port it
 * names), JoinGroup v5, the member id that MEMBER_ID_REQUIRED hands out, SyncGroup v3, and another JoinGroup whenever
 * REBALANCE_IN_PROGRESS says so. The leader assigns one partition to each member; each sync answer is checked, and each
 * partition of a generation has to be somebody's exactly once.
 *
 *   cold:    nobody is there; everybody joins. Includes the server's initial rebalance delay.
 *   rejoin:  the group is stable; every member joins again at once with a changed subscription. Nothing but the storm.
 *   restart: members leave and come back with a new connection and a new id, one after another; the others learn of it
 *            by a heartbeat, as soon as the newcomer's JoinGroup is out.
 *
 * Measured for each storm: last JoinGroup sent -> last SyncGroup answered, first -> last, and CPU time of the server's
 * processes (--cpu-of PID). One thread, one epoll set, never sleeping while it measures; the share of time in which it
 * had something to do says whether it was the bottleneck.
 *
 * Output: one JSON object on stdout. Exit 0 only if every answer was right.   Build: cc -O2 -o build/storm storm.c
 */
#define _GNU_SOURCE
#include "wire.h"

enum { BURST = 64 };
enum state { CLOSED, FINDING, WAITING, JOINING, SYNCING, STABLE, BEATING, LEAVING, LEFT };

struct buffer {
    uint8_t *data;
    size_t used, room;
};

struct group {
    int size, generation, leader_saw, stable;
    bool done;
    int32_t *owner_generation; /* by partition: the generation in which somebody was last given it */
};

struct member {
    int fd, group, index, generation, port;
    enum state state;
    int32_t correlation;
    int64_t retry_at_ns;
    char id[MAX_ID];
    struct buffer in, out;
    bool wants_out;
};

static struct {
    const char *host;
    int port, groups, size, rounds, restarts, limit_s;
} opt = {.host = "127.0.0.1", .groups = 1, .size = 100, .rounds = 3, .limit_s = 60};

static struct member *members;
static struct group *groups;
static int n_members, groups_done, subscription_round;
static int64_t now_ns, idle_ns, first_join_ns, last_join_ns, joins, syncs, beats;

/* ---- connections ------------------------------------------------------------------------------------------------ */

static void reserve(struct buffer *b, size_t more) {
    if (b->used + more <= b->room) return;
    while (b->room < b->used + more) b->room = b->room ? b->room * 2 : 512;
    b->data = realloc(b->data, b->room);
    if (!b->data) die("out of memory");
}

static void flush_out(struct member *m) {
    m->out.used = send_some(m->fd, m, m->out.data, m->out.used, &m->wants_out);
}

static void open_connection(struct member *m, int port) {
    if (m->fd >= 0) close(m->fd);
    m->in.used = m->out.used = 0, m->wants_out = false, m->port = port;
    m->fd = connect_to(opt.host, port);
    watch(m->fd, m);
}

/* Begins a request that names the group first, as all of ours do; what follows takes at most `room` bytes. */
static struct writer begin_request(struct member *m, int api, int version, enum state state, size_t room) {
    char name[64];
    if (m->out.used) die("member %d of group %d has not sent its last request yet", m->index, m->group);
    reserve(&m->out, 128 + room);
    struct writer w = begin(m->out.data, api, version, ++m->correlation, false);
    snprintf(name, sizeof name, "storm-%s-%d", run_id, m->group);
    put_string(&w, name);
    m->state = state;
    return w;
}

static void send_request(struct member *m, struct writer *w) {
    m->out.used = (size_t)finish(w);
    flush_out(m);
}

static void send_find(struct member *m) {
    struct writer w = begin_request(m, FIND_COORDINATOR, 2, FINDING, 1);
    put_int(&w, 0, 1);
    send_request(m, &w);
}

static void send_join(struct member *m) {
    struct writer w = begin_request(m, JOIN_GROUP, 5, JOINING, 64 + MAX_ID);
    put_int(&w, 60000, 4), put_int(&w, 60000, 4); /* session and rebalance timeout */
    put_string(&w, m->id), put_int(&w, -1, 2), put_string(&w, "consumer");
    put_int(&w, 1, 4), put_string(&w, "range");
    put_int(&w, 2 + 4 + 2 + 5 + 4 + 4, 4); /* subscription v0: one topic, and the round as user data */
    put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, "storm"), put_int(&w, 4, 4), put_int(&w, subscription_round, 4);
    send_request(m, &w);
    joins++;
    last_join_ns = clock_ns(CLOCK_MONOTONIC);
    if (!first_join_ns) first_join_ns = last_join_ns;
}

static void send_sync(struct member *m, char (*ids)[MAX_ID], int count) {
    struct writer w = begin_request(m, SYNC_GROUP, 3, SYNCING, (size_t)(count + 1) * (32 + MAX_ID));
    put_int(&w, m->generation, 4), put_string(&w, m->id), put_int(&w, -1, 2), put_int(&w, count, 4);
    for (int i = 0; i < count; i++) { /* assignment v0: partition i for the i-th member */
        put_string(&w, ids[i]), put_int(&w, 2 + 4 + 2 + 5 + 4 + 4 + 4, 4);
        put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, "storm"), put_int(&w, 1, 4), put_int(&w, i, 4);
        put_int(&w, -1, 4);
    }
    send_request(m, &w);
    syncs++;
}

static void send_beat(struct member *m) {
    struct writer w = begin_request(m, HEARTBEAT, 3, BEATING, 16 + MAX_ID);
    put_int(&w, m->generation, 4), put_string(&w, m->id), put_int(&w, -1, 2);
    send_request(m, &w);
    beats++;
}

static void send_leave(struct member *m) {
    struct writer w = begin_request(m, LEAVE_GROUP, 1, LEAVING, 2 + MAX_ID);
    put_string(&w, m->id);
    send_request(m, &w);
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static void failed(const struct member *m, const char *api, int error) {
    die("%s of member %d in group %d was answered with error %d", api, m->index, m->group, error);
}

static bool try_later(struct member *m, int error) {
    if (error != LOAD_IN_PROGRESS && error != COORDINATOR_NOT_AVAILABLE && error != NOT_COORDINATOR) return false;
    m->state = WAITING, m->retry_at_ns = now_ns + 50000000;
    return true;
}

static void handle_find(struct member *m, struct reader *r) {
    char host[MAX_ID];
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    if (error && !try_later(m, error)) failed(m, "FindCoordinator", error);
    if (error) return;
    get_string(r, NULL), get_int(r, 4), get_string(r, host);
    int port = (int)get_int(r, 4);
    if (port != m->port) open_connection(m, port);
    send_join(m);
}

static void handle_join(struct member *m, struct reader *r) {
    static char (*ids)[MAX_ID];
    char leader[MAX_ID], protocol[MAX_ID];
    struct group *g = &groups[m->group];
    if (!ids) ids = malloc((size_t)opt.size * MAX_ID);
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    int generation = (int)get_int(r, 4);
    get_string(r, protocol), get_string(r, leader);
    if (error && try_later(m, error)) return;
    get_string(r, m->id);
    if (error == MEMBER_ID_REQUIRED || error == REBALANCE_IN_PROGRESS) {
        send_join(m);
        return;
    }
    if (error) failed(m, "JoinGroup", error);
    m->generation = generation;
    int count = (int)get_int(r, 4);
    if (count > opt.size || (count > 0) != (strcmp(leader, m->id) == 0)) die("JoinGroup: %d members in an answer", count);
    for (int i = 0; i < count; i++) {
        get_string(r, ids[i]), get_string(r, NULL);
        skip(r, get_int(r, 4));
    }
    if (count) {
        groups_done -= g->done;
        g->generation = generation, g->leader_saw = count, g->stable = 0, g->done = false;
    }
    send_sync(m, ids, count);
}

static void handle_sync(struct member *m, struct reader *r) {
    struct group *g = &groups[m->group];
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    if (error == REBALANCE_IN_PROGRESS) {
        send_join(m);
        return;
    }
    if (error) failed(m, "SyncGroup", error);
    if (get_int(r, 4) < 2 + 4 + 2) die("SyncGroup: an empty assignment");
    get_int(r, 2), get_int(r, 4); /* version, one topic */
    get_string(r, NULL), get_int(r, 4);
    int partition = (int)get_int(r, 4);
    if (partition < 0 || partition >= g->size) die("SyncGroup: partition %d of %d", partition, g->size);
    m->state = STABLE;
    if (m->generation != g->generation) return;
    if (g->owner_generation[partition] == m->generation) die("SyncGroup: partition %d was given twice", partition);
    g->owner_generation[partition] = m->generation;
    if (++g->stable == g->size && g->leader_saw == g->size) g->done = true, groups_done++;
}

static void handle_answer(struct member *m, struct reader *r) {
    int error;
    switch (m->state) {
    case FINDING: handle_find(m, r); break;
    case JOINING: handle_join(m, r); break;
    case SYNCING: handle_sync(m, r); break;
    case BEATING:
        get_int(r, 4);
        error = (int)get_int(r, 2);
        m->state = STABLE;
        if (error == REBALANCE_IN_PROGRESS) send_join(m);
        else if (error) failed(m, "Heartbeat", error);
        break;
    case LEAVING:
        get_int(r, 4);
        if ((error = (int)get_int(r, 2))) failed(m, "LeaveGroup", error);
        m->state = LEFT;
        break;
    default: die("an answer nobody asked for");
    }
}

static void handle_readable(struct member *m) {
    struct buffer *in = &m->in;
    reserve(in, 4096);
    ssize_t n = recv(m->fd, in->data + in->used, in->room - in->used, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) die("the server closed the connection of member %d in group %d", m->index, m->group);
    in->used += (size_t)n;
    if (in->used < 8) return;
    struct reader r = {in->data, in->data + in->used};
    int64_t size = get_int(&r, 4);
    if (size < 4 || size > 1 << 27) die("an answer of %" PRId64 " bytes", size);
    if (in->used < (size_t)size + 4) {
        reserve(in, (size_t)size + 4 - in->used);
        return;
    }
    if (in->used > (size_t)size + 4) die("more than one answer to one request");
    int32_t correlation = (int32_t)get_int(&r, 4);
    if (correlation != m->correlation) die("answer %d where %d was due", correlation, m->correlation);
    in->used = 0;
    handle_answer(m, &r);
}

/* ---- the storms ------------------------------------------------------------------------------------------------- */

static void turn(void) {
    static struct epoll_event events[1024];
    int n = epoll_wait(poll_fd, events, 1024, 0);
    if (n < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    int64_t before = now_ns;
    now_ns = clock_ns(CLOCK_MONOTONIC);
    if (n == 0) idle_ns += now_ns - before;
    for (int i = 0; i < n; i++) {
        struct member *m = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) flush_out(m);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) handle_readable(m);
    }
}

/* Those that believe themselves stable while their group is not: a heartbeat tells them. And those that wait. */
static void nudge(bool all_at_once) {
    static int64_t next_ns;
    if (!all_at_once && now_ns < next_ns) return;
    next_ns = now_ns + 50000000;
    for (int i = 0; i < n_members; i++) {
        struct member *m = &members[i];
        if (m->state == WAITING && now_ns > m->retry_at_ns) send_find(m);
        if (m->state == STABLE && !groups[m->group].done) send_beat(m);
    }
}

static void until_done(const char *what) {
    int64_t deadline = clock_ns(CLOCK_MONOTONIC) + (int64_t)opt.limit_s * 1000000000;
    while (groups_done < opt.groups) {
        turn();
        nudge(false);
        if (now_ns > deadline) die("%s: %d of %d groups after %d s", what, groups_done, opt.groups, opt.limit_s);
    }
}

struct window {
    int64_t from_ns, cpu_ns;
};

static struct window open_window(void) {
    first_join_ns = last_join_ns = idle_ns = joins = syncs = beats = 0;
    now_ns = clock_ns(CLOCK_MONOTONIC);
    return (struct window){now_ns, servers_cpu_ns()};
}

static void report(const char *name, struct window w, int count, const char *before) {
    int64_t end = clock_ns(CLOCK_MONOTONIC), cpu = servers_cpu_ns() - w.cpu_ns;
    double wall = (double)(end - w.from_ns);
    printf("%s{\"storm\": \"%s\", \"last_join_to_last_sync_ms\": %.3f, \"first_join_to_last_sync_ms\": %.3f, "
           "\"server_cpu_us_per_member\": %.2f, \"server_cpu_share\": %.3f, \"generator_busy_share\": %.3f, "
           "\"joins\": %" PRId64 ", \"syncs\": %" PRId64 ", \"heartbeats\": %" PRId64 "}",
           before, name, (double)(end - last_join_ns) / 1e6, (double)(end - first_join_ns) / 1e6,
           (double)cpu / 1e3 / count, (double)cpu / wall, 1 - (double)idle_ns / wall, joins, syncs, beats);
    fflush(stdout);
}

/* Index by index, so that all groups are busy at once; answers are taken in between. */
static void for_all(void (*send_one)(struct member *)) {
    for (int index = 0, sent = 0; index < opt.size; index++)
        for (int group = 0; group < opt.groups; group++) {
            send_one(&members[group * opt.size + index]);
            if (++sent % BURST == 0) turn();
        }
}

static void settle(void) { /* answers of heartbeats that are still due */
    for (bool busy = true; busy;) {
        turn();
        busy = false;
        for (int i = 0; i < n_members; i++) busy |= members[i].state != STABLE;
    }
}

static void rejoin(int round) {
    settle();
    for (int i = 0; i < opt.groups; i++) groups[i].done = false;
    groups_done = 0, subscription_round = round;
    struct window w = open_window();
    for_all(send_join);
    until_done("rejoin");
    report("rejoin", w, n_members, ", ");
}

static void restart(struct member *m) {
    struct group *g = &groups[m->group];
    settle();
    struct window w = open_window();
    send_leave(m);
    while (m->state != LEFT) turn();
    groups_done -= g->done;
    g->done = false, m->id[0] = 0;
    open_connection(m, opt.port);
    send_find(m);
    while (joins < 2 && !g->done) turn(); /* without an id, and with it */
    nudge(true);
    until_done("restart");
    report("restart", w, n_members, ", ");
}

static void parse_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value) die("%s needs a value", name);
        if (!strcmp(name, "--host")) opt.host = value;
        else if (!strcmp(name, "--port")) opt.port = atoi(value);
        else if (!strcmp(name, "--groups")) opt.groups = atoi(value);
        else if (!strcmp(name, "--size")) opt.size = atoi(value);
        else if (!strcmp(name, "--rounds")) opt.rounds = atoi(value);
        else if (!strcmp(name, "--restarts")) opt.restarts = atoi(value);
        else if (!strcmp(name, "--limit")) opt.limit_s = atoi(value);
        else if (!strcmp(name, "--cpu-of")) add_server(value);
        else die("unknown option %s %s", name, value);
    }
    if (opt.port <= 0) die("--port is missing");
    if (opt.groups < 1 || opt.size < 1 || opt.restarts > opt.size) die("--groups, --size or --restarts");
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    set_up_program();
    n_members = opt.groups * opt.size;
    members = calloc((size_t)n_members, sizeof *members);
    groups = calloc((size_t)opt.groups, sizeof *groups);
    if (!members || !groups) die("out of memory");
    for (int i = 0; i < n_members; i++) {
        members[i].fd = -1, members[i].group = i / opt.size, members[i].index = i % opt.size;
        open_connection(&members[i], opt.port);
    }
    for (int i = 0; i < opt.groups; i++) {
        groups[i].size = opt.size;
        groups[i].owner_generation = calloc((size_t)opt.size, sizeof(int32_t));
    }
    printf("{\"groups\": %d, \"size\": %d, \"storms\": [", opt.groups, opt.size);
    struct window w = open_window();
    for_all(send_find);
    until_done("cold");
    report("cold", w, n_members, "");
    for (int i = 1; i <= opt.rounds; i++) rejoin(i);
    for (int i = 0; i < opt.restarts; i++) restart(&members[i]);
    printf("]}\n");
    return 0;
}
