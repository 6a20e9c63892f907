/* Group members over the wire, before anything is measured: from a connection to a stable group, and out again.
 *
 * Each connection is one member. It asks FindCoordinator where its group lives and connects there (a worker or a node
 * of its own port), joins with JoinGroup v5 and the member id handed out, syncs, and looks with heartbeats whether the
 * group has begun another rebalance. Only versions that every server of the comparison has are spoken: 0 to 3 here.
 */
#ifndef BENCH_MEMBERS_H
#define BENCH_MEMBERS_H

#include "latency.h"
#include "wire.h"

enum { MAX_IN_FLIGHT = 64, MAX_GROUP = 256, MAX_PARTITIONS = 64, IN_BYTES = 65536, OUT_BYTES = 131072 };
enum state { FINDING, JOINING, SYNC_DUE, SYNCING, SYNCED, CHECKING, RETRYING, PRIMING, PRIMED, DRIVING, LEAVING, LEFT };

struct group {
    int size, generation, leader_saw; /* leader_saw: members in the leader's JoinGroup answer */
    char members[MAX_GROUP][MAX_ID];
};

struct connection {
    int fd, port, group, index, generation, outstanding;
    enum state state;
    bool leads, wants_out;
    int32_t next_correlation, expected_correlation;
    int64_t offset, last_beat_ns, retry_at_ns;
    char member_id[MAX_ID];
    uint8_t *request; /* the hot request with everything but correlation id and offsets in place */
    int request_bytes, offset_at[MAX_PARTITIONS], n_offsets;
    int64_t sent_ns[MAX_IN_FLIGHT];
    int64_t first_number, asked, sent; /* open loop: the first correlation id; how many were due, were sent */
    int in_used, out_used;
    uint8_t in[IN_BYTES], out[OUT_BYTES];
};

static struct {
    const char *host, *topic;
    int port, connections, partitions; /* partitions: of one request; the topic has partitions x group_size */
    int in_flight, group_size, frame_bytes, fetch_version;
    double seconds, warmup, rate;
    bool sleeps;
    int64_t count;
} opt = {.host = "127.0.0.1", .topic = "bench", .connections = 100, .partitions = 1, .in_flight = 1, .group_size = 10,
         .frame_bytes = 110, .fetch_version = 8, .seconds = 3, .warmup = 1, .count = INT64_MAX};

static struct connection *connections;
static struct group *groups;
static int n_groups;
static int64_t now_ns_cached;
static const int64_t RETRY_NS = 100000000, CHECK_NS = 200000000, LEADER_WAITS_NS = 20000000;

/* ---- the connection --------------------------------------------------------------------------------------------- */

static void flush_out(struct connection *c) {
    c->out_used = (int)send_some(c->fd, c, c->out, (size_t)c->out_used, &c->wants_out);
}

static void open_connection(struct connection *c, int port) {
    c->port = port, c->fd = connect_to(opt.host, port), c->wants_out = false;
    c->next_correlation = c->expected_correlation = c->outstanding = c->in_used = c->out_used = 0;
    watch(c->fd, c);
}

/* ---- which versions the server has (ApiVersions v0, which everybody answers) ------------------------------------- */

static void read_exactly(int fd, uint8_t *into, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = recv(fd, into + done, size - done, 0);
        if (n <= 0) die("the server does not answer ApiVersions");
        done += (size_t)n;
    }
}

static void negotiate(bool fetches) {
    static const struct { int api, version; const char *name; } needed[] = {
        {OFFSET_COMMIT, 8, "OffsetCommit"}, {FIND_COORDINATOR, 2, "FindCoordinator"}, {JOIN_GROUP, 5, "JoinGroup"},
        {HEARTBEAT, 3, "Heartbeat"}, {HEARTBEAT, 4, "Heartbeat"}, {LEAVE_GROUP, 1, "LeaveGroup"},
        {SYNC_GROUP, 3, "SyncGroup"},
    };
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    static uint8_t answer[65536];
    bool served[N_NEEDED] = {false};
    int fetch_from = -1, fetch_to = -1, fd = connect_to(opt.host, opt.port);
    struct timeval patience = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct writer w = begin(answer, API_VERSIONS, 0, 1, false);
    int size = finish(&w);
    if (send(fd, answer, (size_t)size, MSG_NOSIGNAL) != size) die("ApiVersions could not be sent");
    read_exactly(fd, answer, 4);
    struct reader r = {answer, answer + 4};
    int64_t bytes = get_int(&r, 4);
    if (bytes < 10 || bytes > (int64_t)sizeof answer) die("an ApiVersions answer of %" PRId64 " bytes", bytes);
    read_exactly(fd, answer, (size_t)bytes);
    close(fd);
    r = (struct reader){answer + 4, answer + bytes};
    int error = (int)get_int(&r, 2);
    if (error) die("ApiVersions was answered with error %d", error);
    for (int64_t n = get_int(&r, 4); n > 0; n--) {
        int api = (int)get_int(&r, 2), from = (int)get_int(&r, 2), to = (int)get_int(&r, 2);
        for (int i = 0; i < N_NEEDED; i++)
            if (needed[i].api == api) served[i] = from <= needed[i].version && needed[i].version <= to;
        if (api == OFFSET_FETCH) fetch_from = from, fetch_to = to;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!served[i]) die("the server does not serve %s v%d", needed[i].name, needed[i].version);
    opt.fetch_version = fetch_to >= 8 ? 8 : 6; /* v8 asks for groups, v6 for one: librdkafka's mock has no more */
    if (fetches && (fetch_from > opt.fetch_version || fetch_to < 6)) die("the server serves no OffsetFetch v6 or v8");
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static void group_name(const struct connection *c, char *name) { sprintf(name, "bench-%s-%d", run_id, c->group); }

static void send_setup(struct connection *c, struct writer *w, enum state state) {
    c->out_used += finish(w);
    c->next_correlation++, c->outstanding++, c->state = state;
    flush_out(c);
}

static struct writer begin_setup(struct connection *c, int api, int version) {
    struct writer w = begin(c->out + c->out_used, api, version, c->next_correlation, false);
    char name[64];
    group_name(c, name);
    put_string(&w, name);
    return w;
}

static void send_find(struct connection *c) {
    struct writer w = begin_setup(c, FIND_COORDINATOR, 2);
    put_int(&w, 0, 1); /* the key is a group */
    send_setup(c, &w, FINDING);
}

static void send_join(struct connection *c) {
    struct writer w = begin_setup(c, JOIN_GROUP, 5);
    put_int(&w, 60000, 4), put_int(&w, 60000, 4); /* session and rebalance timeout */
    put_string(&w, c->member_id), put_int(&w, -1, 2), put_string(&w, "consumer");
    put_int(&w, 1, 4), put_string(&w, "range");
    put_int(&w, 2 + 4 + 2 + (int)strlen(opt.topic) + 4, 4); /* subscription v0: one topic, no user data */
    put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, opt.topic), put_int(&w, -1, 4);
    send_setup(c, &w, JOINING);
}

static void send_sync(struct connection *c) {
    const struct group *g = &groups[c->group];
    int n_members = c->leads ? g->leader_saw : 0;
    struct writer w = begin_setup(c, SYNC_GROUP, 3);
    put_int(&w, c->generation, 4), put_string(&w, c->member_id), put_int(&w, -1, 2);
    put_int(&w, n_members, 4);
    for (int i = 0; i < n_members; i++) { /* assignment v0: partition i for the i-th member */
        put_string(&w, g->members[i]);
        put_int(&w, 2 + 4 + 2 + (int)strlen(opt.topic) + 4 + 4 + 4, 4);
        put_int(&w, 0, 2), put_int(&w, 1, 4), put_string(&w, opt.topic), put_int(&w, 1, 4), put_int(&w, i, 4);
        put_int(&w, -1, 4);
    }
    send_setup(c, &w, SYNCING);
}

static void send_check(struct connection *c) { /* has the group begun another rebalance? */
    struct writer w = begin_setup(c, HEARTBEAT, 3);
    put_int(&w, c->generation, 4), put_string(&w, c->member_id), put_int(&w, -1, 2);
    send_setup(c, &w, CHECKING);
}

static void send_leave(struct connection *c) { /* so that nobody has to expire while the next run is measured */
    struct writer w = begin_setup(c, LEAVE_GROUP, 1);
    put_string(&w, c->member_id);
    send_setup(c, &w, LEAVING);
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

/* True if the error passes by itself: the request is repeated a little later, from FindCoordinator on. */
static bool try_again(struct connection *c, const char *api, int error) {
    if (error == 0) return false;
    if (error == UNKNOWN_MEMBER_ID) c->member_id[0] = 0;
    else if (error != LOAD_IN_PROGRESS && error != COORDINATOR_NOT_AVAILABLE && error != NOT_COORDINATOR &&
             error != ILLEGAL_GENERATION)
        die("%s of member %d in group %d was answered with error %d", api, c->index, c->group, error);
    c->state = RETRYING, c->retry_at_ns = now_ns_cached + RETRY_NS;
    return true;
}

/* FindCoordinator's answer. Returns false if this connection was closed for another port. */
static bool handle_find(struct connection *c, struct reader *r) {
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    if (try_again(c, "FindCoordinator", error)) return true;
    get_string(r, NULL), get_int(r, 4), get_string(r, NULL);
    int port = (int)get_int(r, 4);
    bool stays = port == c->port;
    if (!stays) close(c->fd), open_connection(c, port);
    send_join(c);
    return stays;
}

static void handle_join(struct connection *c, struct reader *r) {
    struct group *g = &groups[c->group];
    char leader[MAX_ID], protocol[MAX_ID];
    get_int(r, 4);
    int error = (int)get_int(r, 2);
    c->generation = (int)get_int(r, 4);
    get_string(r, protocol), get_string(r, leader), get_string(r, c->member_id);
    if (error == MEMBER_ID_REQUIRED || error == REBALANCE_IN_PROGRESS) {
        send_join(c);
        return;
    }
    if (try_again(c, "JoinGroup", error)) return;
    int n_members = (int)get_int(r, 4);
    c->leads = strcmp(leader, c->member_id) == 0;
    if (n_members > MAX_GROUP || (n_members > 0) != c->leads) die("JoinGroup: %d members in an answer", n_members);
    for (int i = 0; i < n_members; i++) {
        get_string(r, g->members[i]), get_string(r, NULL);
        skip(r, get_int(r, 4));
    }
    if (c->leads) { /* last of all: librdkafka's mock refuses a follower that syncs after the leader */
        g->generation = c->generation, g->leader_saw = n_members;
        c->state = SYNC_DUE, c->retry_at_ns = now_ns_cached + LEADER_WAITS_NS;
    } else send_sync(c);
}

/* One answer of the set-up. Returns false if the connection is now another one, and the buffer empty. */
static bool handle_setup(struct connection *c, struct reader *r) {
    int error;
    switch (c->state) {
    case FINDING: return handle_find(c, r);
    case JOINING: handle_join(c, r); break;
    case LEAVING: c->state = LEFT; break; /* whatever it says: it is over */
    case SYNCING:
    case CHECKING:
        get_int(r, 4);
        error = (int)get_int(r, 2);
        if (error == REBALANCE_IN_PROGRESS) send_join(c);
        else if (!try_again(c, c->state == SYNCING ? "SyncGroup" : "Heartbeat", error))
            c->state = SYNCED, c->last_beat_ns = now_ns_cached;
        break;
    default: die("an answer nobody asked for");
    }
    return true;
}

static bool every_group_is_stable(void) {
    for (int i = 0; i < opt.connections; i++) {
        const struct connection *c = &connections[i];
        const struct group *g = &groups[c->group];
        if (c->state != SYNCED || c->generation != g->generation || g->leader_saw != g->size) return false;
    }
    return true;
}

static void move_on(void) { /* what has waited long enough is tried again */
    for (int i = 0; i < opt.connections; i++) {
        struct connection *c = &connections[i];
        if (c->state == SYNCED && now_ns_cached - c->last_beat_ns > CHECK_NS) send_check(c);
        if (c->state == SYNC_DUE && now_ns_cached > c->retry_at_ns) send_sync(c);
        if (c->state == RETRYING && now_ns_cached > c->retry_at_ns) send_find(c);
    }
}

#endif
