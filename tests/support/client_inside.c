/* SPDX-License-Identifier: Apache-2.0 */
/* What only the inside of a client shows, in C, for tests/support/client.hpp. */
#include "producer/client.h"

bool trib_test_claim_without_publishing(struct trib_client *client, const struct trib_event *event);
void *trib_test_ring_memory(struct trib_client *client, uint64_t *bytes);

bool trib_test_claim_without_publishing(struct trib_client *client, const struct trib_event *event) {
    uint64_t ticket;

    return trib_ring_claim(&atomic_load(&client->hand->current)->ring, event, &ticket) != NULL;
}

void *trib_test_ring_memory(struct trib_client *client, uint64_t *bytes) {
    struct trib_attachment *at = atomic_load(&client->hand->current);

    *bytes = at->ring_bytes;
    return at->head;
}
