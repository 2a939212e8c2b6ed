/* SPDX-License-Identifier: Apache-2.0 */
/* Which closed superblock is collected next.
 *
 * The index behind "fewest valid pages" is two levels deep: keys[] holds every superblock's valid
 * count and group_keys_min[] the smallest of each group of 64. A death lowers both in place (one
 * store, one compare), taking a victim recomputes one group, and choosing scans superblocks / 64 +
 * 64 numbers: cheaper than keeping bucket lists sorted at every death, and exact.
 *
 * No choice may depend on a stream's number, so every tie goes to the superblock closed first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "flash/internal.h"

#define FRUITLESS_CHOICES_MAX  16u   /* in a row, of D_CHOICES */
#define RATE_WINDOWS_PER_DRIVE 4     /* death rates are averaged over host writes of a quarter of the exported pages */
#define WEIGHT_SCALE           256.0 /* integers, so that the order of summation does not matter */

struct quota_group {
    uint64_t physical_pages, valid_pages;
    int64_t deaths_seen; /* at the start of the window */
    uint64_t rate;       /* deaths per window, averaged with weight 1/2 */
    uint64_t weight;
    uint32_t emptiest;
};

struct flash_quota {
    uint64_t window_start; /* host_clock */
    bool rates_known;
    struct quota_group groups[]; /* per class; see flash_stream.group */
};

static bool older(const struct trib_flash *f, uint32_t a, uint32_t b) {
    return f->closed_sequence[a] < f->closed_sequence[b];
}

static bool emptier(const struct trib_flash *f, uint32_t a, uint32_t b) {
    return f->keys[a] < f->keys[b] || (f->keys[a] == f->keys[b] && older(f, a, b));
}

static uint32_t group_end(const struct trib_flash *f, uint32_t group) {
    uint32_t end = (group + 1) << FLASH_GROUP_SHIFT;
    return end < f->superblocks ? end : f->superblocks;
}

static uint32_t emptiest_in_group(const struct trib_flash *f, uint32_t group, uint32_t best) {
    for (uint32_t i = group << FLASH_GROUP_SHIFT; i < group_end(f, group); i++)
        if (flash_is_closed(f, i) && (best == FLASH_NO_SUPERBLOCK || emptier(f, i, best)))
            best = i;
    return best;
}

static uint32_t pick_greedy(const struct trib_flash *f) {
    uint32_t fewest = FLASH_NOT_CLOSED, best = FLASH_NO_SUPERBLOCK;
    for (uint32_t g = 0; g < f->groups; g++)
        if (f->group_keys_min[g] < fewest)
            fewest = f->group_keys_min[g];
    for (uint32_t g = 0; g < f->groups; g++) {
        if (f->group_keys_min[g] != fewest)
            continue;
        best = emptiest_in_group(f, g, best);
        if (fewest == 0)
            break; /* nothing to copy: which of them is collected makes no difference */
    }
    return best;
}

/* Rosenblum & Ousterhout, TOCS'92, section 3.5: benefit / cost = free space gained * age / (read u,
 * write u). Compared by cross-multiplication; an empty superblock has an infinite score. */
static uint32_t pick_cost_benefit(const struct trib_flash *f) {
    uint32_t best = FLASH_NO_SUPERBLOCK;
    double best_gain = 0, best_valid = 1;
    for (uint32_t i = 0; i < f->superblocks; i++) {
        if (!flash_is_closed(f, i))
            continue;
        uint32_t valid = f->keys[i];
        if (valid == 0)
            return i;
        double age = (double)(f->host_clock - f->closed_at[i] + 1);
        double gain = (double)(f->superblock_pages - valid) * age;
        double lead = gain * best_valid - best_gain * (double)valid;
        if (best == FLASH_NO_SUPERBLOCK || lead > 0 || (lead == 0 && older(f, i, best))) {
            best = i;
            best_gain = gain;
            best_valid = (double)valid;
        }
    }
    return best;
}

static uint32_t pick_d_choices(struct trib_flash *f) {
    uint32_t best = FLASH_NO_SUPERBLOCK;
    for (uint32_t i = 0; i < f->config.victim_choices; i++) {
        uint32_t candidate = f->closed_list[flash_random(f, f->closed_count)];
        if (best == FLASH_NO_SUPERBLOCK || emptier(f, candidate, best))
            best = candidate;
    }
    /* A full superblock is chance's answer too, and counts; but chance alone must not decide that
     * space comes free. */
    bool is_full = f->keys[best] == f->superblock_pages;
    f->fruitless_choices = is_full ? f->fruitless_choices + 1 : 0;
    return f->fruitless_choices > FRUITLESS_CHOICES_MAX ? pick_greedy(f) : best;
}

/* Physical and valid pages and the emptiest closed superblock of every data group. */
static void quota_survey(const struct trib_flash *f, struct flash_quota *q) {
    for (uint32_t g = 0; g < f->classes; g++) {
        q->groups[g].physical_pages = q->groups[g].valid_pages = 0;
        q->groups[g].emptiest = FLASH_NO_SUPERBLOCK;
    }
    for (uint32_t c = 0; c < f->classes; c++) {
        const struct flash_stream *s = &f->streams[c];
        if (flash_is_open(s)) { /* its unwritten pages are spare space, too */
            q->groups[f->streams[c].group].physical_pages += f->superblock_pages;
            q->groups[f->streams[c].group].valid_pages += flash_valid_pages(f, s->superblock);
        }
    }
    for (uint32_t i = 0; i < f->superblocks; i++) {
        if (!flash_is_closed(f, i))
            continue;
        struct quota_group *group = &q->groups[f->streams[f->superblock_class[i]].group];
        group->physical_pages += f->superblock_pages;
        group->valid_pages += f->keys[i];
        if (group->emptiest == FLASH_NO_SUPERBLOCK || emptier(f, i, group->emptiest))
            group->emptiest = i;
    }
}

/* What came in and is not there any more has died. */
static void quota_rates(const struct trib_flash *f, struct flash_quota *q) {
    if (f->host_clock - q->window_start < f->logical_pages / RATE_WINDOWS_PER_DRIVE)
        return;
    for (uint32_t g = 0; g < f->classes; g++) {
        struct quota_group *group = &q->groups[g];
        int64_t arrived = 0;
        for (uint32_t c = 0; c < f->classes; c++) {
            const struct flash_traffic *t = &f->streams[c].traffic;
            if (f->streams[c].group == g)
                arrived += (int64_t)(t->host_pages + t->gc_pages_in - t->gc_pages_out);
        }
        int64_t deaths = arrived - (int64_t)group->valid_pages;
        int64_t now = deaths > group->deaths_seen ? deaths - group->deaths_seen : 0;
        group->rate = q->rates_known ? (group->rate + (uint64_t)now) / 2 : (uint64_t)now;
        group->deaths_seen = deaths;
    }
    q->rates_known = q->window_start > 0 || q->rates_known; /* the first window includes the fill */
    q->window_start = f->host_clock;
}

/* Optimal spare space of separated groups is proportional to sqrt(r u) (Desnoyers, SYSTOR'12;
 * Stoica & Ailamaki, VLDB'13): collect from the group that has most above that. */
static uint32_t pick_spare_quota(struct trib_flash *f) {
    struct flash_quota *q = f->quota;
    uint64_t weights = 0, spare = 0;
    uint32_t best = FLASH_NO_SUPERBLOCK;
    double best_excess = 0;
    quota_survey(f, q);
    quota_rates(f, q);
    for (uint32_t g = 0; g < f->classes; g++) {
        struct quota_group *group = &q->groups[g];
        double rate = q->rates_known ? (double)group->rate : (double)group->valid_pages;
        group->weight = (uint64_t)(sqrt(rate * (double)group->valid_pages) * WEIGHT_SCALE);
        weights += group->weight;
        spare += group->physical_pages - group->valid_pages;
    }
    for (uint32_t g = 0; g < f->classes; g++) {
        const struct quota_group *group = &q->groups[g];
        uint32_t i = group->emptiest;
        if (i == FLASH_NO_SUPERBLOCK || f->keys[i] == f->superblock_pages)
            continue;
        double share = weights ? (double)group->weight / (double)weights : 0;
        double excess = (double)(group->physical_pages - group->valid_pages) - (double)spare * share;
        if (best == FLASH_NO_SUPERBLOCK || excess > best_excess || (excess == best_excess && older(f, i, best))) {
            best = i;
            best_excess = excess;
        }
    }
    return best;
}

int flash_victims_open(struct trib_flash *f) {
    enum trib_victim victim = f->config.victim;
    if (victim == TRIB_VICTIM_FIFO || victim == TRIB_VICTIM_D_CHOICES) {
        f->closed_list = calloc(f->superblocks, sizeof *f->closed_list);
        f->closed_place = calloc(f->superblocks, sizeof *f->closed_place);
        if (!f->closed_list || !f->closed_place)
            return -ENOMEM;
        f->memory_bytes += sizeof *f->closed_list * 2 * f->superblocks;
    }
    if (victim == TRIB_VICTIM_SPARE_QUOTA) {
        f->quota = calloc(1, sizeof *f->quota + f->classes * sizeof *f->quota->groups);
        if (!f->quota)
            return -ENOMEM;
        f->memory_bytes += sizeof *f->quota + f->classes * sizeof *f->quota->groups;
    }
    return 0;
}

void flash_victims_close(struct trib_flash *f) {
    free(f->closed_list);
    free(f->closed_place);
    free(f->quota);
}

void flash_victims_add(struct trib_flash *f, uint32_t superblock) {
    uint32_t *group_min = &f->group_keys_min[superblock >> FLASH_GROUP_SHIFT];
    if (f->keys[superblock] < *group_min)
        *group_min = f->keys[superblock];
    if (f->config.victim == TRIB_VICTIM_FIFO) {
        uint32_t tail = f->closed_head + f->closed_count;
        f->closed_list[tail >= f->superblocks ? tail - f->superblocks : tail] = superblock;
    } else if (f->config.victim == TRIB_VICTIM_D_CHOICES) {
        f->closed_list[f->closed_count] = superblock;
        f->closed_place[superblock] = f->closed_count;
    }
    f->closed_count++;
}

static uint32_t pick(struct trib_flash *f) {
    switch (f->config.victim) {
    case TRIB_VICTIM_COST_BENEFIT:
        return pick_cost_benefit(f);
    case TRIB_VICTIM_FIFO:
        return f->closed_list[f->closed_head];
    case TRIB_VICTIM_D_CHOICES:
        return pick_d_choices(f);
    case TRIB_VICTIM_SPARE_QUOTA:
        return pick_spare_quota(f);
    case TRIB_VICTIM_GREEDY:
        break;
    }
    return pick_greedy(f);
}

uint32_t flash_victims_take(struct trib_flash *f) {
    assert(f->closed_count > 0);
    uint32_t victim = pick(f);
    assert(victim != FLASH_NO_SUPERBLOCK);
    f->closed_count--;
    if (f->config.victim == TRIB_VICTIM_FIFO) {
        f->closed_head = f->closed_head + 1 == f->superblocks ? 0 : f->closed_head + 1;
    } else if (f->config.victim == TRIB_VICTIM_D_CHOICES) {
        uint32_t last = f->closed_list[f->closed_count];
        f->closed_list[f->closed_place[victim]] = last;
        f->closed_place[last] = f->closed_place[victim];
    }
    f->keys[victim] |= FLASH_NOT_CLOSED;
    uint32_t group = victim >> FLASH_GROUP_SHIFT, fewest = UINT32_MAX;
    for (uint32_t i = group << FLASH_GROUP_SHIFT; i < group_end(f, group); i++)
        if (f->keys[i] < fewest)
            fewest = f->keys[i];
    f->group_keys_min[group] = fewest;
    return victim;
}
