/* Kafka's wire format, as much as a load generator needs: a cursor that writes requests, one that reads answers.
 *
 * A reader that is asked for more than there is ends the program: in a benchmark a malformed answer is the result.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "program.h"

enum { MAX_ID = 128 };
enum { OFFSET_COMMIT = 8, OFFSET_FETCH = 9, FIND_COORDINATOR = 10, JOIN_GROUP = 11, HEARTBEAT = 12, LEAVE_GROUP = 13 };
enum { SYNC_GROUP = 14, API_VERSIONS = 18 };
enum { LOAD_IN_PROGRESS = 14, COORDINATOR_NOT_AVAILABLE = 15, NOT_COORDINATOR = 16, ILLEGAL_GENERATION = 22 };
enum { UNKNOWN_MEMBER_ID = 25, REBALANCE_IN_PROGRESS = 27, MEMBER_ID_REQUIRED = 79 };

/* ---- writing ---------------------------------------------------------------------------------------------------- */

struct writer {
    uint8_t *start, *at;
};

static inline void put_int(struct writer *w, int64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) *w->at++ = (uint8_t)(value >> shift);
}
static inline void put_raw(struct writer *w, const void *data, size_t size) {
    memcpy(w->at, data, size), w->at += size;
}
static inline void put_string(struct writer *w, const char *s) {
    put_int(w, (int64_t)strlen(s), 2), put_raw(w, s, strlen(s));
}
static inline void put_compact(struct writer *w, const char *s) { /* ids here are below 127 bytes: a one-byte varint */
    *w->at++ = (uint8_t)(strlen(s) + 1);
    put_raw(w, s, strlen(s));
}

/* A request's header: v1, or v2 (with tags) where the request's version is flexible. */
static inline struct writer begin(uint8_t *at, int api, int version, int32_t correlation, bool flexible) {
    struct writer w = {at, at + 4};
    put_int(&w, api, 2), put_int(&w, version, 2), put_int(&w, correlation, 4), put_string(&w, "bench");
    if (flexible) *w.at++ = 0;
    return w;
}

static inline int finish(struct writer *w) { /* puts the length in front; returns the size of the whole */
    int size = (int)(w->at - w->start);
    struct writer prefix = {w->start, w->start};
    put_int(&prefix, size - 4, 4);
    return size;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static inline int64_t get_int(struct reader *r, int bytes) {
    if (r->end - r->at < bytes) die("an answer ends early");
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | *r->at++;
    int unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

static inline void skip(struct reader *r, int64_t bytes) {
    if (bytes < 0 || r->end - r->at < bytes) die("an answer ends early");
    r->at += bytes;
}

static inline uint32_t get_varint(struct reader *r) {
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = (uint8_t)get_int(r, 1);
        value |= (uint32_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    die("a varint that does not end");
}

static inline void skip_tags(struct reader *r) {
    for (uint32_t n = get_varint(r); n > 0; n--) get_varint(r), skip(r, get_varint(r));
}

static inline void skip_compact(struct reader *r) { /* a compact string or bytes; null is length 0 */
    uint32_t size = get_varint(r);
    if (size > 1) skip(r, size - 1);
}

static inline void get_string(struct reader *r, char *into) { /* null reads as empty; into may be NULL */
    int64_t size = get_int(r, 2);
    if (size < 0) size = 0;
    if (r->end - r->at < size || (into && size >= MAX_ID)) die("a string of %d bytes in an answer", (int)size);
    if (into) memcpy(into, r->at, (size_t)size), into[size] = 0;
    r->at += size;
}

#endif
