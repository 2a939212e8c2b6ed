/* SPDX-License-Identifier: Apache-2.0 */
/* The shim's table of descriptors with its inside open, and around it nothing: nobody is recorded. */
#include "files/descriptors.c"

#include "descriptors_inside.h"

_Atomic(int) trib_quiet_calls, trib_asking;
_Thread_local int trib_quiet_child;

bool trib_sink_wanted(void) {
    return true;
}
bool trib_sink_name(uint64_t file, const char *path) {
    (void)file, (void)path;
    return true;
}
void trib_sink_lose_name(void) {
}
void trib_ring_closed(int fd) {
    (void)fd;
}
void trib_rings_closed(unsigned first, unsigned last) {
    (void)first, (void)last;
}
void trib_rings_clear(void) {
}
enum trib_device trib_device_of(int fd, dev_t device) {
    (void)fd, (void)device;
    return TRIB_DEVICE_STORAGE;
}

void descriptors_spoil(int fd, int what) {
    static const uint32_t faults[] = {LOOKED_UP, NAMED, REGULAR | OWED};

    atomic_store(&trib_slot(fd)->word, faults[what]);
}

void descriptors_give_back(void) {
    trib_slots_give_back();
}

bool descriptors_write(int fd) {
    const void *frame[2] = {0};
    struct trib_descriptor known;

    if (!trib_descriptor_look(fd, frame, &known))
        return false;
    trib_descriptor_name(&known);
    return true;
}

bool descriptors_remember(int fd) {
    const struct trib_slot *slot = trib_slot(fd);

    return slot && atomic_load(&slot->word) & NAMED;
}

void descriptors_close(int fd) {
    trib_descriptor_forget(fd);
}
