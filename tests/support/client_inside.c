/* SPDX-License-Identifier: Apache-2.0 */
/* What only the inside of a client shows, in C, for tests/support/client.hpp. */
#include "producer/client.h"

#include <string.h>

bool trib_test_claim_without_publishing(struct trib_client *client, const struct trib_event *event);
void *trib_test_ring_memory(struct trib_client *client, uint64_t *bytes);
bool trib_test_submit_as_is(struct trib_client *client, const struct trib_event *event);
bool trib_test_put_name(struct trib_client *client, uint64_t file, const char *path);
void trib_test_put_lying_name(struct trib_client *client, uint64_t file, uint32_t claimed_bytes);
bool trib_test_put_uncovered(struct trib_client *client, uint64_t why, const char *path);
void trib_test_claim_drops(struct trib_client *client, uint64_t events, uint64_t bytes);
void trib_test_claim_broken(struct trib_client *client, uint32_t broken, uint32_t names_lost);
void trib_test_claim_missed(struct trib_client *client, uint64_t events, uint64_t bytes);
uint64_t trib_test_put_module(struct trib_client *client, const char *path, bool really);
bool trib_test_put_signature(struct trib_client *client, uint64_t signature, uint64_t module_key);
bool trib_test_put_deep_signature(struct trib_client *client, uint64_t signature, uint64_t module_key, uint32_t frames);
bool trib_test_is_known(struct trib_client *client, uint64_t key);
void trib_test_leave(struct trib_client *client);
uint64_t trib_test_heartbeat_ns(struct trib_client *client);
uint64_t trib_test_epoch(struct trib_client *client);
void trib_test_set_image(struct trib_client *client, uint64_t image);
void trib_test_spoil(struct trib_client *client, int what);
uint64_t trib_test_backoff_ns(struct trib_client *client);
void trib_test_try_now(struct trib_client *client);
void trib_test_let_retired_age(struct trib_client *client);
const void *trib_test_table_memory(struct trib_client *client, uint64_t *bytes);

bool trib_test_claim_without_publishing(struct trib_client *client, const struct trib_event *event) {
    uint64_t ticket;

    return trib_ring_claim(&atomic_load(&client->hand->current)->ring, event, &ticket) != NULL;
}

void *trib_test_ring_memory(struct trib_client *client, uint64_t *bytes) {
    struct trib_attachment *at = atomic_load(&client->hand->current);

    *bytes = at->ring_bytes;
    return at->head;
}

bool trib_test_submit_as_is(struct trib_client *client, const struct trib_event *event) {
    struct trib_ring *ring = &client->hand->attachments[0].ring;
    uint64_t ticket;
    struct trib_event *slot = trib_ring_claim(ring, event, &ticket);

    if (!slot)
        return false;
    *slot = *event;
    trib_ring_publish(ring, ticket);
    return true;
}

static struct trib_text_ring *texts_of(struct trib_client *client) {
    return &client->hand->attachments[0].texts;
}

bool trib_test_put_name(struct trib_client *client, uint64_t file, const char *path) {
    return trib_text_put(texts_of(client), TRIB_TEXT_NAME, file, path, (uint32_t)strlen(path));
}

bool trib_test_put_uncovered(struct trib_client *client, uint64_t why, const char *path) {
    return trib_text_put(texts_of(client), TRIB_TEXT_UNCOVERED, why, path, (uint32_t)strlen(path));
}

void trib_test_claim_drops(struct trib_client *client, uint64_t events, uint64_t bytes) {
    struct trib_ring_ends *ends = client->hand->attachments[0].ring.ends;

    atomic_store(&ends->dropped_bytes, bytes);
    atomic_store(&ends->dropped_events, events);
}

void trib_test_claim_broken(struct trib_client *client, uint32_t broken, uint32_t names_lost) {
    atomic_store(&client->hand->attachments[0].head->broken, broken);
    atomic_store(&client->hand->attachments[0].head->names_lost, names_lost);
}

void trib_test_claim_missed(struct trib_client *client, uint64_t events, uint64_t bytes) {
    atomic_store(&client->hand->missed_events, events);
    atomic_store(&client->hand->missed_bytes, bytes);
}

void trib_test_put_lying_name(struct trib_client *client, uint64_t file, uint32_t claimed_bytes) {
    const struct trib_text_head lie = {.body_bytes = claimed_bytes, .kind = TRIB_TEXT_NAME, .id = file};
    struct trib_text_ring *ring = texts_of(client);
    uint64_t at = atomic_load(&ring->head->text_tail) % TRIB_TEXT_RING_BYTES;

    memcpy(ring->bytes + at, &lie, sizeof lie);
    atomic_fetch_add(&ring->head->text_tail, sizeof lie + 8);
}

uint64_t trib_test_put_module(struct trib_client *client, const char *path, bool really) {
    struct trib_module module = {.build_id_hash = 99};

    memcpy(module.path, path, strlen(path));
    uint64_t key = trib_text_module_key(&module);
    bool put = !really || trib_text_put(texts_of(client), TRIB_TEXT_MODULE, key, &module, sizeof module);
    return put ? key : 0;
}

bool trib_test_put_deep_signature(struct trib_client *client, uint64_t signature, uint64_t module_key,
                                  uint32_t frames) {
    struct trib_text_frame all[TRIB_SIGNATURE_DEPTH_MAX];

    for (uint32_t i = 0; i < frames; i++)
        all[i] = (struct trib_text_frame){99, 0x40 + i, module_key};
    return trib_text_put(texts_of(client), TRIB_TEXT_SIGNATURE, signature, all, frames * (uint32_t)sizeof *all);
}

bool trib_test_put_signature(struct trib_client *client, uint64_t signature, uint64_t module_key) {
    return trib_test_put_deep_signature(client, signature, module_key, 1);
}

bool trib_test_is_known(struct trib_client *client, uint64_t key) {
    return trib_seen((_Atomic(uint64_t) *)(uintptr_t)client->hand->attachments[0].table->seen, key);
}

void trib_test_set_image(struct trib_client *client, uint64_t image) {
    client->image = image;
}

uint64_t trib_test_heartbeat_ns(struct trib_client *client) {
    return atomic_load(&client->hand->attachments[0].table->heartbeat_ns);
}

uint64_t trib_test_epoch(struct trib_client *client) {
    return atomic_load(&client->hand->current)->epoch;
}

void trib_test_leave(struct trib_client *client) {
    atomic_store(&client->hand->attachments[0].head->left, 1);
}

/* What a wild write of the program's may hit. */
void trib_test_spoil(struct trib_client *client, int what) {
    struct trib_attachment *at = atomic_load(&client->hand->current);

    if (what == 0)
        atomic_store(&at->ring.ends->tail, atomic_load(&at->ring.ends->head) + at->ring.mask + 2);
    else if (what == 1)
        atomic_store(&at->head->text_tail, atomic_load(&at->head->text_head) + TRIB_TEXT_RING_BYTES + 1);
    else
        at->texts.bytes = (uint8_t *)(uintptr_t)64; /* where a text would fault */
}

uint64_t trib_test_backoff_ns(struct trib_client *client) {
    return atomic_load(&client->hand->backoff_ns);
}

void trib_test_try_now(struct trib_client *client) {
    atomic_store(&client->hand->next_try_ns, 0);
}

/* As if ten seconds had gone by since a thread could last be inside of one. */
void trib_test_let_retired_age(struct trib_client *client) {
    for (unsigned i = 0; i < TRIB_ATTACHMENTS; i++)
        if (client->hand->attachments[i].retired_ns)
            client->hand->attachments[i].retired_ns = 1;
}

const void *trib_test_table_memory(struct trib_client *client, uint64_t *bytes) {
    struct trib_attachment *at = atomic_load(&client->hand->current);

    *bytes = at->table_bytes;
    return at->table;
}
