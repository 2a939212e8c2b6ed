/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm_tables.h"

#include <pthread.h>
#include <stdio.h>

#include "path/recall.h"
#include "path/tags.h"

#define THREADS_MAX 16u

struct job {
    unsigned number, rounds, wrong;
};

static struct trib_recall table;
static uint32_t tags[THREADS_MAX][2 * TRIB_TAGS_MAX];

static unsigned run(void *(*work)(void *job), unsigned threads, unsigned rounds) {
    pthread_t thread[THREADS_MAX];
    struct job job[THREADS_MAX];
    unsigned wrong = 0;

    for (unsigned i = 0; i < threads; i++) {
        job[i] = (struct job){.number = i, .rounds = rounds};
        if (pthread_create(&thread[i], NULL, work, &job[i]) != 0)
            return UINT32_MAX;
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        wrong += job[i].wrong;
    }
    return wrong;
}

/* Every key of 64 falls on one of two slots. */
static uint64_t key_of(unsigned round) {
    return 1 + round % 2 + (uint64_t)(round % 64) * TRIB_RECALL_SLOTS;
}

static void *recall(void *arg) {
    struct job *job = arg;

    for (unsigned i = 0; i < job->rounds; i++) {
        uint64_t mine = key_of(i * 7 + job->number), other = key_of(i * 5 + job->number);
        trib_remember(&table, mine, trib_recall_mix(mine, 42));
        uint64_t found = trib_recall(&table, other);
        job->wrong += found != TRIB_SIGNATURE_UNKNOWN && found != trib_recall_mix(other, 42);
    }
    return NULL;
}

unsigned jvm_recall_wrong(unsigned threads, unsigned rounds) {
    return run(recall, threads, rounds);
}

static void *intern(void *arg) {
    struct job *job = arg;
    char name[32];

    for (unsigned i = 0; i < job->rounds; i++) {
        snprintf(name, sizeof name, "name %u", i);
        tags[job->number][i] = trib_tag_intern(name);
        trib_tag_here = tags[job->number][i];
        job->wrong += trib_tag_here && trib_tag_intern(name) != trib_tag_here;
    }
    return NULL;
}

unsigned jvm_tags_wrong(unsigned threads, unsigned names) {
    unsigned wrong = run(intern, threads, names), without = 0;

    for (unsigned name = 0; name < names; name++) {
        for (unsigned i = 1; i < threads; i++)
            wrong += tags[i][name] != tags[0][name];
        without += tags[0][name] == 0;
    }
    return wrong + (without != (names > TRIB_TAGS_MAX ? names - TRIB_TAGS_MAX : 0));
}
