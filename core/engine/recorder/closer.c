/* SPDX-License-Identifier: Apache-2.0 */
/* Closing what other users gave us. The last close of a descriptor may wait for as long as its owner likes (a TCP
 * socket with SO_LINGER) or have much to do (for all that watches it elsewhere), and any close of a file may wait
 * (FUSE). A socket with messages that nobody received closes what came with them. None of that is done by the listener.
 *
 * Connections and pidfds: a thread that is about to end takes copies of all descriptors; then the listener's close is
 * not the last; then the thread ends, and a thread that ends does not linger. Descriptors that were received and are no
 * pidfds: a thread each, as even a close that is not the last may wait; there are only so many of those, and of one
 * user few.
 * Thread safety: the listener's, or its owner's once that has ended; what threads are under way all share. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "recorder/listener.h"

#define PARKED_OF_USER_MAX 4u
#define PARKED_OTHERS_MAX  64u /* of all users but root and the daemon's owner, who have room of their own */
#define PARKED_MAX         (PARKED_OTHERS_MAX + 2 * PARKED_OF_USER_MAX)

/* ---- connections, pidfds ---- */

struct holder {
    sem_t has_copies, may_end;
    int code;
};

static void *hold(void *arg) {
    struct holder *holder = arg;

    holder->code = unshare(CLONE_FILES) ? -errno : 0;
    sem_post(&holder->has_copies);
    while (sem_wait(&holder->may_end) != 0)
        ;
    return NULL;
}

static void close_all(struct trib_listener *listener) {
    for (unsigned i = 0; i < listener->discard_count; i++)
        close(listener->discards[i]);
    listener->discard_count = 0;
    listener->is_somebody_waiting = false;
}

/* Joining does not wait for the descriptors: a thread counts as ended before it closes them. */
void trib_closer_run(struct trib_listener *listener) {
    struct holder holder = {.code = 0};
    pthread_t thread;

    if (listener->discard_count == 0)
        return;
    sem_init(&holder.has_copies, 0, 0);
    sem_init(&holder.may_end, 0, 0);
    bool has_thread = pthread_create(&thread, NULL, hold, &holder) == 0;
    while (has_thread && sem_wait(&holder.has_copies) != 0)
        ;
    close_all(listener); /* without a thread, or where a sandbox forbids unshare, as risky as it is */
    sem_post(&holder.may_end);
    if (has_thread)
        pthread_join(thread, NULL);
    sem_destroy(&holder.has_copies);
    sem_destroy(&holder.may_end);
}

void trib_closer_add(struct trib_listener *listener, int fd) {
    trib_closer_add_later(listener, fd);
    listener->is_somebody_waiting = true;
}

void trib_closer_add_later(struct trib_listener *listener, int fd) {
    if (listener->discard_count == TRIB_DISCARDS_MAX)
        trib_closer_run(listener);
    trib_listener_unwatch(listener, fd);
    listener->discards[listener->discard_count++] = fd;
}

/* ---- descriptors that are no pidfds ---- */

/* Outlives the listener: a close may take longer than the daemon. */
static struct parked {
    _Atomic(bool) taken;
    uid_t user;
    int fd;
} parked[PARKED_MAX];

static void *close_parked(void *arg) {
    struct parked *mine = arg;

    pthread_setname_np(pthread_self(), "tributary-close");
    close(mine->fd);
    atomic_store(&mine->taken, false);
    return NULL;
}

static bool is_trusted(uid_t user) {
    return user == 0 || user == geteuid();
}

bool trib_closer_has_room(uid_t user) {
    unsigned of_others = 0, of_user = 0;

    for (unsigned i = 0; i < PARKED_MAX; i++) {
        bool is_taken = atomic_load(&parked[i].taken);
        of_others += is_taken && !is_trusted(parked[i].user);
        of_user += is_taken && parked[i].user == user;
    }
    return of_user < PARKED_OF_USER_MAX && (is_trusted(user) || of_others < PARKED_OTHERS_MAX);
}

/* After has_room. Where no thread can be had, the descriptor stays open: better one too many than a close that waits.
 */
void trib_closer_park(uid_t user, int fd) {
    struct parked *mine = parked;
    pthread_attr_t detached;
    pthread_t thread;

    while (mine < parked + PARKED_MAX - 1 && atomic_load(&mine->taken))
        mine++;
    mine->user = user;
    mine->fd = fd;
    atomic_store(&mine->taken, true);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    (void)!pthread_create(&thread, &detached, close_parked, mine);
    pthread_attr_destroy(&detached);
}
