/* A load generator that speaks Kafka's wire protocol: real group members (members.h) under a closed or an open loop.
 *
 * --mode heartbeat | commit | fetch | echo; commit and fetch of --partitions each. Closed loop: --in-flight requests
 * on each of --connections. Open loop: --rate requests a second, whatever the server does; each request has a moment at
 * which it was due, and its latency counts from then, also when it could not be sent yet, so that a server that stands
 * still for a second is charged with every request of that second (coordinated omission). Every answer is checked: its
 * correlation id must be the oldest outstanding one, its error code zero, and an offset fetched is the one committed;
 * anything else is counted and makes the run fail. In echo mode frames of the same size go to an echo server.
 *
 * One thread, one epoll set, so that one core drives the server on the other. The measured window begins after the
 * warm-up; at both ends the CPU clocks of the server's processes (--cpu-of PID, nanoseconds) are read. While measuring
 * we never sleep: to wake a sleeper costs whoever sends, and a server would look the dearer, the more often it let us
 * wait. Where load and server share all cores, --sleep 1 lets us sleep all the same, because the core is worth more.
 * How much of the time we had something to do, and how late requests left, tells whether we were the bottleneck.
 *
 * Output: one JSON object on stdout. Exit 0 only if every answer was right.   Build: cc -O2 -o build/load load.c
 */
#define _GNU_SOURCE
#include "members.h"

enum mode { MODE_HEARTBEAT, MODE_COMMIT, MODE_FETCH, MODE_ECHO };
static const char *const MODES[] = {"heartbeat", "commit", "fetch", "echo"};

static enum mode mode;
static bool measuring, stopping;
static int64_t answered, errors, idle_ns, began_ns, next_due;
static int answer_bytes; /* size of the last hot answer, for the report */
static struct histogram latency, lateness;

/* ---- what is repeated ------------------------------------------------------------------------------------------- */

static int partition_of(const struct connection *c, int which) { return c->index * opt.partitions + which; }

static void write_commit(struct connection *c, struct writer *w) { /* OffsetCommit v8 */
    char name[64];
    group_name(c, name);
    put_compact(w, name), put_int(w, c->generation, 4), put_compact(w, c->member_id);
    *w->at++ = 0, *w->at++ = 2; /* no instance id; one topic */
    put_compact(w, opt.topic), *w->at++ = (uint8_t)(opt.partitions + 1);
    c->n_offsets = 0;
    for (int i = 0; i < opt.partitions; i++) {
        put_int(w, partition_of(c, i), 4);
        c->offset_at[c->n_offsets++] = (int)(w->at - w->start);
        put_int(w, 0, 8), put_int(w, -1, 4), *w->at++ = 1, *w->at++ = 0; /* offset, epoch, empty metadata, tags */
    }
    *w->at++ = 0, *w->at++ = 0; /* tags of topic and request */
}

static void write_fetch(const struct connection *c, struct writer *w) { /* OffsetFetch v8, or v6: one group, no list */
    char name[64];
    group_name(c, name);
    bool listed = opt.fetch_version >= 8;
    if (listed) *w->at++ = 2;
    put_compact(w, name), *w->at++ = 2;
    put_compact(w, opt.topic), *w->at++ = (uint8_t)(opt.partitions + 1);
    for (int i = 0; i < opt.partitions; i++) put_int(w, partition_of(c, i), 4);
    *w->at++ = 0;                                     /* tags of the topic */
    if (listed) *w->at++ = 0, *w->at++ = 0;           /* tags of the group; stable offsets are not required */
    *w->at++ = 0;                                     /* tags of the request */
}

/* The request this connection repeats. Only the correlation id (at byte 8) and a commit's offsets change. */
static void prepare_hot_request(struct connection *c, enum mode what) {
    uint8_t scratch[4096];
    char name[64];
    group_name(c, name);
    struct writer w;
    c->n_offsets = 0;
    if (what == MODE_ECHO) {
        w = begin(scratch, HEARTBEAT, 4, 0, true);
        if (opt.frame_bytes < 32 || opt.frame_bytes > 4000) die("--frame-bytes takes 32 to 4000");
        while (w.at - w.start < opt.frame_bytes) *w.at++ = 'x';
    } else if (what == MODE_HEARTBEAT) {
        w = begin(scratch, HEARTBEAT, 4, 0, true);
        put_compact(&w, name), put_int(&w, c->generation, 4), put_compact(&w, c->member_id);
        *w.at++ = 0, *w.at++ = 0; /* no instance id; no tags */
    } else if (what == MODE_COMMIT) {
        w = begin(scratch, OFFSET_COMMIT, 8, 0, true), write_commit(c, &w);
    } else {
        w = begin(scratch, OFFSET_FETCH, opt.fetch_version, 0, true), write_fetch(c, &w);
    }
    c->request_bytes = finish(&w);
    free(c->request);
    c->request = malloc((size_t)c->request_bytes);
    if (!c->request) die("out of memory");
    memcpy(c->request, scratch, (size_t)c->request_bytes);
}

static void queue_hot(struct connection *c, int64_t now) {
    if (c->out_used + c->request_bytes > OUT_BYTES) die("out buffer full");
    uint8_t *at = c->out + c->out_used;
    memcpy(at, c->request, (size_t)c->request_bytes);
    struct writer w = {at, at + 8};
    put_int(&w, c->next_correlation, 4);
    if (c->n_offsets) c->offset++;
    for (int i = 0; i < c->n_offsets; i++) w.at = at + c->offset_at[i], put_int(&w, c->offset, 8);
    c->sent_ns[c->next_correlation % MAX_IN_FLIGHT] = now;
    c->next_correlation++, c->outstanding++;
    c->out_used += c->request_bytes;
}

/* When the k-th request of a connection was due, in an open loop: connections take turns. */
static int64_t due_ns(const struct connection *c, int64_t k) {
    double number = (double)(c - connections) + (double)k * opt.connections;
    return began_ns + (int64_t)(number * 1e9 / opt.rate);
}

static void send_due(struct connection *c) { /* as many of those that are due as may be in flight */
    while (c->sent < c->asked && c->outstanding < MAX_IN_FLIGHT) {
        c->sent++;
        queue_hot(c, now_ns_cached);
    }
}

static void open_loop_turn(void) {
    for (;;) {
        struct connection *c = &connections[next_due % opt.connections];
        int64_t due = due_ns(c, c->asked);
        if (due > now_ns_cached) return;
        if (measuring) record(&lateness, now_ns_cached - due);
        next_due++, c->asked++;
        send_due(c);
        flush_out(c);
    }
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static bool check_commit(const struct connection *c, struct reader *r, int *error) {
    get_int(r, 4);
    if (get_varint(r) != 2) return false;
    skip_compact(r);
    if (get_varint(r) != (uint32_t)opt.partitions + 1) return false;
    for (int i = 0; i < opt.partitions && !*error; i++) {
        if (get_int(r, 4) != partition_of(c, i)) return false;
        *error = (int)get_int(r, 2);
        skip_tags(r);
    }
    return true;
}

static bool check_fetch(const struct connection *c, struct reader *r, int *error) {
    get_int(r, 4);
    if (opt.fetch_version >= 8) {
        if (get_varint(r) != 2) return false;
        skip_compact(r);
    }
    if (get_varint(r) != 2) return false;
    skip_compact(r);
    if (get_varint(r) != (uint32_t)opt.partitions + 1) return false;
    for (int i = 0; i < opt.partitions && !*error; i++) {
        if (get_int(r, 4) != partition_of(c, i) || get_int(r, 8) != c->offset) return false;
        get_int(r, 4), skip_compact(r);
        *error = (int)get_int(r, 2);
        skip_tags(r);
    }
    if (*error) return true;
    skip_tags(r);
    *error = (int)get_int(r, 2);
    return true;
}

static bool check_hot(struct connection *c, struct reader r, const uint8_t *frame, int size, enum mode what) {
    if (what == MODE_ECHO)
        return size == c->request_bytes - 4 && memcmp(frame + 8, c->request + 12, (size_t)size - 8) == 0;
    int error = 0;
    bool right = true;
    skip_tags(&r);
    if (what == MODE_HEARTBEAT) get_int(&r, 4), error = (int)get_int(&r, 2);
    else if (what == MODE_COMMIT) right = check_commit(c, &r, &error);
    else right = check_fetch(c, &r, &error);
    if ((error || !right) && errors < 5)
        fprintf(stderr, "load: member %d of group %d got %s %d\n", c->index, c->group,
                right ? "error" : "a wrong answer, error", error);
    return right && error == 0;
}

static void handle_hot(struct connection *c, struct reader r, const uint8_t *frame, int size, int32_t correlation) {
    if (!check_hot(c, r, frame, size, mode)) errors++;
    answer_bytes = size + 4;
    int64_t from = opt.rate > 0 ? due_ns(c, correlation - c->first_number) : c->sent_ns[correlation % MAX_IN_FLIGHT];
    if (measuring) answered++, record(&latency, now_ns_cached - from);
    if (stopping) return;
    if (opt.rate > 0) send_due(c);
    else queue_hot(c, now_ns_cached);
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
        if (mode == MODE_ECHO) get_int(&r, 4); /* there the frame is our own: key and version come first */
        int32_t correlation = (int32_t)get_int(&r, 4);
        if (correlation != c->expected_correlation)
            die("answer %d where %d was due: out of order", correlation, c->expected_correlation);
        c->expected_correlation++, c->outstanding--;
        if (c->state == DRIVING) handle_hot(c, r, frame, (int)size, correlation);
        else if (c->state == PRIMING) {
            if (!check_hot(c, r, frame, (int)size, MODE_COMMIT)) die("the offset to be fetched could not be committed");
            c->state = PRIMED;
        } else if (!handle_setup(c, &r)) return;
        at += (int)size + 4;
    }
    if (at) memmove(c->in, c->in + at, (size_t)(c->in_used - at));
    c->in_used -= at;
    if (c->out_used) flush_out(c);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void turn(int timeout_ms) {
    static struct epoll_event events[1024];
    int64_t before = clock_ns(CLOCK_MONOTONIC);
    int n = epoll_wait(poll_fd, events, 1024, timeout_ms);
    if (n < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
    now_ns_cached = clock_ns(CLOCK_MONOTONIC);
    if (n == 0 || timeout_ms > 0) idle_ns += now_ns_cached - before;
    for (int i = 0; i < n; i++) {
        struct connection *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) flush_out(c);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) handle_readable(c);
    }
    if (opt.rate > 0 && began_ns && !stopping) open_loop_turn();
}

static bool all_are(enum state state) {
    for (int i = 0; i < opt.connections; i++)
        if (connections[i].state != state) return false;
    return true;
}

static void set_up_groups(void) {
    now_ns_cached = clock_ns(CLOCK_MONOTONIC);
    int64_t deadline = now_ns_cached + 60000000000;
    for (int i = 0; i < opt.connections; i++) send_find(&connections[i]);
    while (!every_group_is_stable()) {
        turn(5);
        if (now_ns_cached > deadline) die("the groups did not become stable within 60 seconds");
        move_on();
    }
    if (mode != MODE_FETCH) return;
    for (int i = 0; i < opt.connections; i++) { /* something to be fetched */
        prepare_hot_request(&connections[i], MODE_COMMIT);
        connections[i].state = PRIMING;
        queue_hot(&connections[i], now_ns_cached);
        flush_out(&connections[i]);
    }
    while (!all_are(PRIMED)) {
        turn(5);
        if (now_ns_cached > deadline) die("the offsets to be fetched were not committed within 60 seconds");
    }
}

static void leave_groups(void) {
    int64_t deadline = clock_ns(CLOCK_MONOTONIC) + 3000000000;
    for (int i = 0; i < opt.connections; i++) send_leave(&connections[i]);
    while (!all_are(LEFT) && now_ns_cached < deadline) turn(20);
}

static int64_t drain(void) { /* take every answer that is still due: a lost one is an error */
    int64_t until = clock_ns(CLOCK_MONOTONIC) + 10000000000, missing;
    do {
        missing = 0;
        for (int i = 0; i < opt.connections; i++) missing += connections[i].outstanding;
        if (missing) turn(100);
    } while (missing && now_ns_cached < until);
    return missing;
}

static void parse_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        if (!value) die("%s needs a value", name);
        if (!strcmp(name, "--host")) opt.host = value;
        else if (!strcmp(name, "--topic")) opt.topic = value;
        else if (!strcmp(name, "--port")) opt.port = atoi(value);
        else if (!strcmp(name, "--connections")) opt.connections = atoi(value);
        else if (!strcmp(name, "--partitions")) opt.partitions = atoi(value);
        else if (!strcmp(name, "--in-flight")) opt.in_flight = atoi(value);
        else if (!strcmp(name, "--group-size")) opt.group_size = atoi(value);
        else if (!strcmp(name, "--frame-bytes")) opt.frame_bytes = atoi(value);
        else if (!strcmp(name, "--seconds")) opt.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) opt.warmup = atof(value);
        else if (!strcmp(name, "--rate")) opt.rate = atof(value);
        else if (!strcmp(name, "--sleep")) opt.sleeps = atoi(value);
        else if (!strcmp(name, "--count")) opt.count = atoll(value);
        else if (!strcmp(name, "--cpu-of")) add_server(value);
        else if (!strcmp(name, "--mode")) {
            for (mode = MODE_HEARTBEAT; mode <= MODE_ECHO && strcmp(value, MODES[mode]); mode++) {}
            if (mode > MODE_ECHO) die("--mode takes heartbeat, commit, fetch or echo");
        } else die("unknown option %s %s", name, value);
    }
    if (opt.port <= 0) die("--port is missing");
    if (opt.connections < 1 || opt.group_size < 1 || opt.group_size > MAX_GROUP) die("--connections or --group-size");
    if (opt.in_flight < 1 || opt.in_flight > MAX_IN_FLIGHT) die("--in-flight takes 1 to %d", MAX_IN_FLIGHT);
    if (opt.partitions < 1 || opt.partitions > MAX_PARTITIONS) die("--partitions takes 1 to %d", MAX_PARTITIONS);
}

static void start_driving(void) {
    now_ns_cached = began_ns = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < opt.connections; i++) {
        struct connection *c = &connections[i];
        prepare_hot_request(c, mode);
        c->state = DRIVING, c->first_number = c->next_correlation;
        for (int k = 0; opt.rate <= 0 && k < opt.in_flight; k++) queue_hot(c, now_ns_cached);
        flush_out(c);
    }
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    set_up_program();
    n_groups = (opt.connections + opt.group_size - 1) / opt.group_size;
    connections = calloc((size_t)opt.connections, sizeof *connections);
    groups = calloc((size_t)n_groups, sizeof *groups);
    if (!connections || !groups) die("out of memory");

    if (mode != MODE_ECHO) negotiate(mode == MODE_FETCH);
    for (int i = 0; i < opt.connections; i++) {
        connections[i].group = i / opt.group_size, connections[i].index = i % opt.group_size;
        groups[connections[i].group].size++;
        open_connection(&connections[i], opt.port);
    }
    int64_t setup_from = clock_ns(CLOCK_MONOTONIC);
    if (mode != MODE_ECHO) set_up_groups();
    double setup_seconds = (double)(clock_ns(CLOCK_MONOTONIC) - setup_from) / 1e9;
    bool ports_differ = false;
    int largest = 0; /* connections of the port that has most: groups hash to workers, and not always evenly */
    for (int i = 0; i < opt.connections; i++) {
        int same = 0;
        for (int k = 0; k < opt.connections; k++) same += connections[k].port == connections[i].port;
        ports_differ |= same < opt.connections;
        if (same > largest) largest = same;
    }

    /* A sleeper of an open loop looks every millisecond, one of a closed loop when there is an answer. */
    int timeout_ms = !opt.sleeps ? 0 : opt.rate > 0 ? 1 : 50;
    start_driving();
    int64_t warm_until = now_ns_cached + (int64_t)(opt.warmup * 1e9);
    while (now_ns_cached < warm_until) turn(timeout_ms);

    measuring = true;
    int64_t from_ns = clock_ns(CLOCK_MONOTONIC), until_ns = from_ns + (int64_t)(opt.seconds * 1e9);
    int64_t server_from = servers_cpu_ns(), own_from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    idle_ns = 0;
    int64_t patience_ns = until_ns + 5000000000; /* a busy machine may give a short window no answer at all */
    while (answered < opt.count && now_ns_cached < (answered ? until_ns : patience_ns)) turn(timeout_ms);
    int64_t server_ns = servers_cpu_ns() - server_from, own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_from;
    double wall = (double)(clock_ns(CLOCK_MONOTONIC) - from_ns) / 1e9;

    if (opt.rate > 0) /* what was due and has no answer yet has waited at least so long */
        for (int i = 0; i < opt.connections; i++)
            for (int64_t k = connections[i].sent - connections[i].outstanding; k < connections[i].asked; k++)
                if (now_ns_cached - due_ns(&connections[i], k) > 1000000000)
                    record(&latency, now_ns_cached - due_ns(&connections[i], k));
    measuring = false, stopping = true;
    errors += drain();
    if (mode != MODE_ECHO) leave_groups();

    double server_share = (double)server_ns / 1e9 / wall, own_share = 1 - (double)idle_ns / 1e9 / wall;
    if (own_share < 0) own_share = 0;
    if (opt.sleeps) own_share = (double)own_ns / 1e9 / wall;
    double late_us = percentile_us(&lateness, 0.99);
    bool limit = own_share > 0.9 && own_share > server_share;
    if (opt.rate > 0) limit = limit || (late_us > 2000 && server_share < 0.5);
    printf("{\"requests\": %" PRId64 ", \"errors\": %" PRId64 ", \"seconds\": %.3f, \"setup_seconds\": %.3f, "
           "\"requests_per_second\": %.0f, \"server_cpu_us_per_request\": %.3f, "
           "\"requests_per_server_cpu_second\": %.0f, "
           "\"server_cpu_share\": %.3f, \"generator_busy_share\": %.3f, \"generator_cpu_seconds\": %.3f, "
           "\"generator_is_the_bottleneck\": %s, \"several_ports\": %s, \"largest_port_share\": %.3f, "
           "\"sent_late_p99_us\": %.0f, "
           "\"request_bytes\": %d, \"answer_bytes\": %d, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, "
           "\"max_us\": %.1f}\n",
           answered, errors, wall, setup_seconds, (double)answered / wall,
           answered ? (double)server_ns / 1e3 / (double)answered : 0,
           server_ns ? (double)answered / ((double)server_ns / 1e9) : 0, server_share, own_share, (double)own_ns / 1e9,
           limit ? "true" : "false", ports_differ ? "true" : "false",
           (double)largest / opt.connections, late_us,
           connections[0].request_bytes, answer_bytes,
           percentile_us(&latency, 0.5), percentile_us(&latency, 0.99), percentile_us(&latency, 0.999),
           (double)latency.largest / 1000);
    return errors || answered == 0 ? 1 : 0;
}
