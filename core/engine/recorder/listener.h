/* SPDX-License-Identifier: Apache-2.0 */
/* The listener's thread in its parts: listener.c serves connections, joining.c gives rings to processes, exchange.c
 * sends and receives messages, closer.c closes what came from others, address.c finds and guards the socket's path.
 * Private to this room; one thread's. */
#ifndef TRIB_RECORDER_LISTENER_H
#define TRIB_RECORDER_LISTENER_H

#include <sys/socket.h>

#include "recorder/source.h"

#define TRIB_STOCK_MAX        32u
#define TRIB_CONNECTIONS_MAX  128u
#define TRIB_ANSWER_BYTES_MAX (128u << 10)
#define TRIB_DISCARDS_MAX     64u

#define TRIB_TAG_LISTENER     1ull
#define TRIB_TAG_WAKE         2ull
#define TRIB_TAG_CONNECTION   (1ull << 60) /* | index */
#define TRIB_TAG_PROCESS      (2ull << 60) /* | generation << 16 | index */

struct trib_stock {
    void *memory;
    int fd;
};

struct trib_connection {
    int fd; /* -1: free */
    uint64_t since_ns;
    struct ucred peer;
    bool is_allowed;
    bool is_refused;            /* not on the list, and told so */
    bool is_bare;               /* nothing that waits in it brings a descriptor */
    struct trib_source *joined; /* what it was given, until it says that it cannot use it */
    uint32_t generation;
};

struct trib_listener {
    struct trib_recorder *recorder;
    int socket, poll, wake;
    char path[108]; /* that it listens at, to be removed; "": somebody else's */
    dev_t path_device;
    ino_t path_inode;    /* of its own socket: another daemon may have the path by then */
    uint64_t touched_ns; /* the socket, last */
    _Atomic(bool) stop;
    bool is_running;
    pthread_t thread;
    struct trib_stock stock[TRIB_STOCK_MAX];
    unsigned stock_count;
    struct trib_connection connections[TRIB_CONNECTIONS_MAX];
    unsigned connection_count;
    unsigned kept_count;             /* connections that only the end of the process closes */
    int discards[TRIB_DISCARDS_MAX]; /* connections and pidfds to be closed aside */
    unsigned discard_count;
    bool is_somebody_waiting; /* at the other end of one */
    uint32_t next_number;
    char answer[TRIB_ANSWER_BYTES_MAX];
};

/* Adds a descriptor to the listener's poll. A process's end is reported once, as its descriptor stays readable. */
int trib_listener_watch(struct trib_listener *listener, int fd, uint64_t tag);

/* Rings made ahead, so that a process that joins does not wait for memory. */
void trib_stock_fill(struct trib_listener *listener);
void trib_stock_drop(struct trib_listener *listener);
/* Answers a request to join. Keeps or closes `sent`, the pidfd that came along; -1: none. */
void trib_listener_join(struct trib_listener *listener, struct trib_connection *connection,
                        const struct trib_request *request, int sent);
/* The process could not map its ring. */
void trib_listener_take_back(struct trib_listener *listener, struct trib_connection *connection, uint32_t error);

bool trib_exchange_send(int socket, const struct trib_answer *answer, int ring, int table);
/* A pidfd of the process that connected, which nobody else has; -1: the kernel gives none. */
int trib_exchange_peer(int socket);
/* The message's length, 0 = end, or -errno; *process = the pidfd that came along, to be closed aside, or -1. -EBADMSG:
 * something else or more came along, and the message waits on; *foreign = the first of it, to be parked, or -1. */
long trib_exchange_receive(int socket, struct trib_request *request, int *process, int *foreign);
bool trib_exchange_is_whole(const struct trib_request *request, long length);

/* A connection that may have messages with descriptors in it; run closes all of them, aside. */
void trib_closer_add(struct trib_listener *listener, int fd);
/* A pidfd that others have, too: nobody waits for its close, and a thread for each would cost a join 50 us. */
void trib_closer_add_later(struct trib_listener *listener, int fd);
void trib_closer_run(struct trib_listener *listener);
/* A descriptor that came from a user and is no pidfd: closed aside. Without room it must not be received. */
bool trib_closer_has_room(uid_t user);
void trib_closer_park(uid_t user, int fd);

#endif
