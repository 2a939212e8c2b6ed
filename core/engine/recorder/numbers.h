/* SPDX-License-Identifier: Apache-2.0 */
/* Small numbers for what processes name: modules, programs. A number holds for the daemon's life, so one user gets half
 * of them at most; what gets none shares the last, which has no name. All zero is empty. Thread safety: one owner. */
#ifndef TRIB_RECORDER_NUMBERS_H
#define TRIB_RECORDER_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_NUMBERS          4096u
#define TRIB_NUMBERS_UNKNOWN  (TRIB_NUMBERS - 1)
#define TRIB_NUMBERS_RESERVED 2u                 /* the last, and one for its owner's use */
#define TRIB_NUMBERS_OF_USER  (TRIB_NUMBERS / 2) /* who is neither root nor the daemon's owner */
#define TRIB_NUMBERS_USERS    32u                /* the rest of them count as one */

struct trib_numbers {
    uint64_t keys[TRIB_NUMBERS]; /* by number */
    uint32_t count;
    uint16_t slots[2 * TRIB_NUMBERS]; /* by hash: number + 1 */
    uid_t users[TRIB_NUMBERS_USERS];
    uint32_t of_user[TRIB_NUMBERS_USERS], user_count;
};

/* TRIB_NUMBERS_UNKNOWN: it has none. */
uint32_t trib_numbers_find(const struct trib_numbers *numbers, uint64_t key);
/* As find; one that has none gets the next, if there is one for this user. */
uint32_t trib_numbers_add(struct trib_numbers *numbers, uint64_t key, uid_t user);
/* Whether add would find a number. */
bool trib_numbers_has_room(const struct trib_numbers *numbers, uid_t user);

TRIB_C_END
#endif
