/* SPDX-License-Identifier: Apache-2.0 */
/* What processes say besides events, for people: file names, call paths, modules, programs. Modules get numbers that
 * hold for all processes, whatever their numbers in each process are. Everything comes from memory that a damaged
 * process may have written: lengths are checked, what makes no sense is skipped. Thread safety: one owner. */
#ifndef TRIB_RECORDER_TEXTS_H
#define TRIB_RECORDER_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/client.h>
#include <tributary/signature.h>

#include "recorder/numbers.h"
#include "ring/text.h"

#define TRIB_TEXTS_MODULES TRIB_NUMBERS
#define TRIB_TEXTS_UNKNOWN TRIB_NUMBERS_UNKNOWN /* a module that got no number of its own; it has no name */
#define TRIB_TEXTS_UNSENT  (TRIB_NUMBERS - 2)   /* one that nobody has sent yet: the path will come again */

/* Where it goes; valid during the call. */
struct trib_texts_sink {
    void *arg;
    void (*name)(void *arg, uint64_t file, const char *path);
    void (*module)(void *arg, uint32_t index, const struct trib_module *module);
    void (*signature)(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count);
    void (*program)(void *arg, uint32_t number, const char *path);
    void (*uncovered)(void *arg, enum trib_uncovered why, const char *path); /* once per start */
};

struct trib_texts {
    struct trib_numbers modules;
};

/* user: whose memory it comes from. 1: taken, and whole: it need not be sent again; 0: taken, but for what it names (a
 * path's module that nobody has sent); -EBADMSG: it makes no sense. */
int trib_texts_take(struct trib_texts *texts, const struct trib_text_head *head, const uint8_t *body, uid_t user,
                    const struct trib_texts_sink *sink);

#endif
