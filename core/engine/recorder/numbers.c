/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/numbers.h"

#include <unistd.h>

#define SLOTS (2 * TRIB_NUMBERS)

/* The slot that has it, or the free one where it belongs: there are twice as many as numbers. */
static uint32_t slot_of(const struct trib_numbers *numbers, uint64_t key) {
    uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15ull >> 51) % SLOTS;

    while (numbers->slots[at] && numbers->keys[numbers->slots[at] - 1] != key)
        at = (at + 1) % SLOTS;
    return at;
}

/* user_count: he has none yet. */
static uint32_t row_of(const struct trib_numbers *numbers, uid_t user) {
    uint32_t row = 0;

    while (row < numbers->user_count && row < TRIB_NUMBERS_USERS - 1 && numbers->users[row] != user)
        row++;
    return row;
}

uint32_t trib_numbers_find(const struct trib_numbers *numbers, uint64_t key) {
    uint16_t found = numbers->slots[slot_of(numbers, key)];

    return found ? found - 1u : TRIB_NUMBERS_UNKNOWN;
}

bool trib_numbers_has_room(const struct trib_numbers *numbers, uid_t user) {
    bool is_trusted = user == 0 || user == geteuid();
    uint32_t row = row_of(numbers, user), taken = row < numbers->user_count ? numbers->of_user[row] : 0;

    return numbers->count < TRIB_NUMBERS - TRIB_NUMBERS_RESERVED && (is_trusted || taken < TRIB_NUMBERS_OF_USER);
}

uint32_t trib_numbers_add(struct trib_numbers *numbers, uint64_t key, uid_t user) {
    uint32_t slot = slot_of(numbers, key), row = row_of(numbers, user);

    if (numbers->slots[slot])
        return numbers->slots[slot] - 1u;
    if (!trib_numbers_has_room(numbers, user))
        return TRIB_NUMBERS_UNKNOWN;
    if (row == numbers->user_count)
        numbers->users[numbers->user_count++] = user;
    numbers->of_user[row]++;
    numbers->keys[numbers->count] = key;
    numbers->slots[slot] = (uint16_t)++numbers->count;
    return numbers->count - 1;
}
