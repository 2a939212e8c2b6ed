/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of garbage collection's destinations and victim rules. The enums, the tables of names, option help,
 * shell completion and the miniature simulations all come from these rows. Thread safety: constant data, pure
 * functions. */
#ifndef TRIB_FLASH_RULES_H
#define TRIB_FLASH_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

/* Internal streams that a destination needs. */
enum trib_gc_internal {
    TRIB_GC_NO_INTERNAL,
    TRIB_GC_ONE,    /* for all survivors */
    TRIB_GC_PAIRED, /* one beside each external stream */
    TRIB_GC_ASKED,  /* as many as configured; a callback names one for each page */
};

/* id, name, internal streams, meaning. Where survivors go (algorithms 0.1). SUBSTREAM and CHAIN give them the highest
 * stream number that the host has not named and nobody has been given; where none is left survivors stay, and a host
 * that names one later gets S0, counted as remapped. */
#define TRIB_GC_DESTINATIONS(X)                                                                                        \
    X(SAME, "same", NO_INTERNAL, "their stream's open superblock: the papers' drive")                                  \
    X(SHARED, "shared", ONE, "one superblock for all: what today's drives do")                                         \
    X(TWIN, "twin", PAIRED, "an internal twin of their stream (PCStream, FAST'19)")                                    \
    X(PSTREAM, "pstream", ASKED, "as the policy maps them now (vStream-FTL)")                                          \
    X(CLASS, "class", ASKED, "as the policy says page by page (SepBIT)")                                               \
    X(PRESERVE, "preserve", PAIRED, "a superblock of their own that keeps their stream's number (FIOS)")               \
    X(SUBSTREAM, "substream", NO_INTERNAL, "an unnamed stream, once a victim has many (PCStream, HotStorage'18)")      \
    X(CHAIN, "chain", NO_INTERNAL, "an unnamed stream each time (Baseline+, HotStorage'18)")

/* id, name, meaning. Which superblock is collected. */
#define TRIB_VICTIMS(X)                                                                                                \
    X(GREEDY, "greedy", "fewest valid pages, oldest first among equals")                                               \
    X(COST_BENEFIT, "cost-benefit", "max (1-u)/(2u) * age since closed, in host pages (Rosenblum & Ousterhout)")       \
    X(FIFO, "fifo", "closed first")                                                                                    \
    X(D_CHOICES, "d-choices", "fewest valid pages of d random superblocks")                                            \
    X(SPARE_QUOTA, "spare-quota", "group farthest above its optimal spare area, emptiest inside it")

enum trib_gc_destination {
#define TRIB_RULE_ID(id, name, internal, meaning) TRIB_GC_##id,
    TRIB_GC_DESTINATIONS(TRIB_RULE_ID)
#undef TRIB_RULE_ID
};

enum trib_victim {
#define TRIB_RULE_ID(id, name, meaning) TRIB_VICTIM_##id,
    TRIB_VICTIMS(TRIB_RULE_ID)
#undef TRIB_RULE_ID
};

/* How many there are; no members of the enums, so that the compiler notices a switch that forgets one. */
enum {
#define TRIB_RULE_ONE_4(id, name, internal, meaning) +1
#define TRIB_RULE_ONE_3(id, name, meaning)           +1
    TRIB_GC_COUNT = 0 TRIB_GC_DESTINATIONS(TRIB_RULE_ONE_4),
    TRIB_VICTIM_COUNT = 0 TRIB_VICTIMS(TRIB_RULE_ONE_3),
#undef TRIB_RULE_ONE_4
#undef TRIB_RULE_ONE_3
};

struct trib_gc_rule {
    const char *name, *meaning;
    enum trib_gc_internal internal;
};

struct trib_victim_rule {
    const char *name, *meaning;
};

/* By the numbers of the enums. */
extern const struct trib_gc_rule trib_gc_rules[TRIB_GC_COUNT];
extern const struct trib_victim_rule trib_victim_rules[TRIB_VICTIM_COUNT];

/* The number of a name, or `otherwise`. */
int trib_gc_find(const char *name, int otherwise);
int trib_victim_find(const char *name, int otherwise);

/* "|a|b|c": what the choices of an option are made of, for static tables: &TRIB_GC_NAMES[1]. */
#define TRIB_RULE_NAME_4(id, name, internal, meaning) "|" name
#define TRIB_RULE_NAME_3(id, name, meaning)           "|" name
#define TRIB_GC_NAMES                                 TRIB_GC_DESTINATIONS(TRIB_RULE_NAME_4)
#define TRIB_VICTIM_NAMES                             TRIB_VICTIMS(TRIB_RULE_NAME_3)

TRIB_C_END
#endif
