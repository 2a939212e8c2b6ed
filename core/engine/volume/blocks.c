/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "log/assert.h"

/* Free runs looked at before find_near settles for the longest: bounds the cost on a fragmented
 * drive. */
#define RUNS_SEEN_MAX 64

static uint64_t words_for(uint64_t bits) {
    return (bits + 63) / 64;
}

/* Bits [first, last) of a word, 0 <= first < last <= 64. */
static uint64_t mask(unsigned first, unsigned last) {
    uint64_t below_last = last == 64 ? ~0ull : (1ull << last) - 1;
    return below_last & (~0ull << first);
}

int trib_blocks_open(struct trib_blocks *blocks, uint64_t count) {
    uint64_t words = words_for(count);
    struct trib_blocks b = {.count = count, .free_count = count};
    b.words = calloc(words, sizeof *b.words);
    b.full_words = calloc(words_for(words), sizeof *b.full_words);
    if (!b.words || !b.full_words) {
        trib_blocks_close(&b);
        return -ENOMEM;
    }
    /* Bits behind the end count as taken, so that no scan needs to know where the drive ends. */
    if (count % 64)
        b.words[words - 1] = ~mask(0, count % 64);
    if (words % 64)
        b.full_words[words_for(words) - 1] = ~mask(0, words % 64);
    *blocks = b;
    return 0;
}

void trib_blocks_close(struct trib_blocks *blocks) {
    free(blocks->words);
    free(blocks->full_words);
    *blocks = (struct trib_blocks){0};
}

bool trib_blocks_is_taken(const struct trib_blocks *blocks, uint64_t lba) {
    return blocks->words[lba / 64] >> (lba % 64) & 1;
}

void trib_blocks_take(struct trib_blocks *blocks, struct trib_block_run run) {
    assert(run.lba + run.count <= blocks->count);
    for (uint64_t lba = run.lba, end = run.lba + run.count; lba < end;) {
        uint64_t word = lba / 64;
        uint64_t stop = end < (word + 1) * 64 ? end : (word + 1) * 64;
        uint64_t bits = mask((unsigned)(lba % 64), (unsigned)(stop - word * 64));
        assert(!(blocks->words[word] & bits));
        blocks->words[word] |= bits;
        if (blocks->words[word] == ~0ull)
            blocks->full_words[word / 64] |= 1ull << (word % 64);
        lba = stop;
    }
    blocks->free_count -= run.count;
}

void trib_blocks_release(struct trib_blocks *blocks, struct trib_block_run run) {
    assert(run.lba + run.count <= blocks->count);
    for (uint64_t lba = run.lba, end = run.lba + run.count; lba < end;) {
        uint64_t word = lba / 64;
        uint64_t stop = end < (word + 1) * 64 ? end : (word + 1) * 64;
        uint64_t bits = mask((unsigned)(lba % 64), (unsigned)(stop - word * 64));
        assert((blocks->words[word] & bits) == bits);
        blocks->words[word] &= ~bits;
        blocks->full_words[word / 64] &= ~(1ull << (word % 64));
        lba = stop;
    }
    blocks->free_count += run.count;
}

/* First word at or after `word` that has a free block, or the number of words (or more). */
static uint64_t next_word_with_space(const struct trib_blocks *blocks, uint64_t word) {
    uint64_t words = words_for(blocks->count);
    if (word >= words)
        return words;
    uint64_t group = word / 64;
    uint64_t open = ~blocks->full_words[group] & (~0ull << (word % 64));
    while (!open) {
        if (++group >= words_for(words))
            return words;
        open = ~blocks->full_words[group];
    }
    return group * 64 + (unsigned)__builtin_ctzll(open);
}

uint64_t trib_blocks_next_free(const struct trib_blocks *blocks, uint64_t from) {
    if (from >= blocks->count)
        return blocks->count;
    uint64_t open = ~blocks->words[from / 64] & (~0ull << (from % 64));
    if (open)
        return from / 64 * 64 + (unsigned)__builtin_ctzll(open);
    uint64_t word = next_word_with_space(blocks, from / 64 + 1);
    if (word >= words_for(blocks->count))
        return blocks->count;
    return word * 64 + (unsigned)__builtin_ctzll(~blocks->words[word]);
}

uint64_t trib_blocks_next_taken(const struct trib_blocks *blocks, uint64_t from, uint64_t limit) {
    if (limit > blocks->count)
        limit = blocks->count;
    for (uint64_t lba = from; lba < limit; lba = (lba / 64 + 1) * 64) {
        uint64_t taken = blocks->words[lba / 64] & (~0ull << (lba % 64));
        if (taken) {
            uint64_t found = lba / 64 * 64 + (unsigned)__builtin_ctzll(taken);
            return found < limit ? found : limit;
        }
    }
    return limit;
}

/* The free run at `lba`, a free block, cut to `want`. */
static struct trib_block_run run_at(const struct trib_blocks *blocks, uint64_t lba, uint64_t want) {
    uint64_t limit = want < blocks->count - lba ? lba + want : blocks->count;
    return (struct trib_block_run){lba, trib_blocks_next_taken(blocks, lba, limit) - lba};
}

struct trib_block_run trib_blocks_find_lowest(const struct trib_blocks *blocks, uint64_t want) {
    uint64_t lba = trib_blocks_next_free(blocks, 0);
    if (lba >= blocks->count)
        return (struct trib_block_run){0};
    return run_at(blocks, lba, want);
}

struct trib_block_run trib_blocks_find_near(const struct trib_blocks *blocks, uint64_t goal, uint64_t want) {
    struct trib_block_run best = {0};
    bool wrapped = false;
    uint64_t lba = goal < blocks->count ? goal : 0;
    for (unsigned seen = 0; seen < RUNS_SEEN_MAX; seen++) {
        lba = trib_blocks_next_free(blocks, lba);
        if (lba >= blocks->count && !wrapped) {
            wrapped = true;
            lba = trib_blocks_next_free(blocks, 0);
        }
        if (lba >= blocks->count || (wrapped && lba >= goal))
            break;
        struct trib_block_run run = run_at(blocks, lba, want);
        if (run.count > best.count)
            best = run;
        if (run.count == want)
            break;
        lba = run.lba + run.count;
    }
    return best;
}
