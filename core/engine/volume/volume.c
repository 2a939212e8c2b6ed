/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/volume.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "base/options.h"
#include "log/assert.h"
#include "volume/blocks.h"
#include "volume/extent_map.h"
#include "volume/raw.h"

#define NO_PAGE UINT64_MAX

struct file {
    uint64_t id;
    uint64_t size_bytes; /* behind the last byte ever written and not truncated */
    struct trib_extent_map map;
    struct trib_block_run window; /* reserved behind the last block; count 0 = none */
    struct file *prev, *next;     /* files with a window */
    uint64_t tail_page;           /* dirty partial page, or NO_PAGE */
    uint64_t partial_page;        /* went to the drive partly filled last, or NO_PAGE */
    struct trib_event tail_cause; /* last write into tail_page */
    UT_hash_handle hh;
};

struct trib_volume {
    struct trib_volume_config config;
    struct trib_volume_sink sink;
    struct trib_blocks blocks;
    struct trib_blocks raw;         /* blocks written through file 0; allocated at its first write */
    struct file *files;             /* by id */
    struct file *windows;           /* list of the files that hold a window */
    uint64_t cursor;                /* behind the last allocation */
    struct trib_volume_stats stats; /* files and extents are counted when asked */
};

/* Joins neighbouring runs, so that the drive sees each contiguous range once. */
struct run_emitter {
    struct trib_volume *volume;
    const struct trib_event *cause; /* NULL: discards */
    uint64_t lba, count;
};

static int emit_pending(struct run_emitter *emitter) {
    const struct trib_volume_sink *sink = &emitter->volume->sink;
    uint64_t lba = emitter->lba, count = emitter->count;
    emitter->count = 0;
    if (!emitter->cause)
        return count ? sink->discard(sink->arg, lba, count) : 0;
    /* No run is longer than the volume, whose blocks a uint32_t counts. */
    return count ? sink->write(sink->arg, emitter->cause, lba, (uint32_t)count) : 0;
}

static int emit(struct run_emitter *emitter, uint64_t lba, uint64_t count) {
    if (emitter->count && emitter->lba + emitter->count == lba) {
        emitter->count += count;
        return 0;
    }
    int error = emit_pending(emitter);
    emitter->lba = lba;
    emitter->count = count;
    return error;
}

int trib_volume_open(struct trib_volume **out, const struct trib_volume_config *config,
                     const struct trib_volume_sink *sink, struct trib_error *error) {
    if (!config->blocks || config->blocks > UINT32_MAX)
        return trib_fail(error, -EINVAL, "volume: %llu blocks; it takes 1 to %u", (unsigned long long)config->blocks,
                         UINT32_MAX);
    struct trib_volume *volume = calloc(1, sizeof *volume);
    if (!volume || trib_blocks_open(&volume->blocks, config->blocks)) {
        free(volume);
        return trib_fail(error, -ENOMEM, "volume: no memory for %llu blocks", (unsigned long long)config->blocks);
    }
    volume->config = *config;
    volume->sink = *sink;
    *out = volume;
    return 0;
}

static struct file *find_file(const struct trib_volume *volume, uint64_t id) {
    struct file *file;
    HASH_FIND(hh, volume->files, &id, sizeof id, file);
    return file;
}

static struct file *find_or_add_file(struct trib_volume *volume, uint64_t id) {
    struct file *file = find_file(volume, id);
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->id = id;
    file->tail_page = file->partial_page = NO_PAGE;
    HASH_ADD(hh, volume->files, id, sizeof file->id, file);
    if (!file->hh.tbl) {
        free(file);
        return NULL;
    }
    volume->stats.files++;
    return file;
}

static void drop_window(struct trib_volume *volume, struct file *file) {
    if (!file->window.count)
        return;
    trib_blocks_release(&volume->blocks, file->window);
    file->window.count = 0;
    DL_DELETE(volume->windows, file);
}

static void drop_all_windows(struct trib_volume *volume) {
    while (volume->windows)
        drop_window(volume, volume->windows);
}

static void forget_file(struct trib_volume *volume, struct file *file) {
    drop_window(volume, file);
    HASH_DELETE(hh, volume->files, file);
    trib_extent_map_close(&file->map);
    free(file);
    volume->stats.files--;
}

void trib_volume_close(struct trib_volume *volume) {
    if (!volume)
        return;
    struct file *file, *next;
    HASH_ITER(hh, volume->files, file, next)
    forget_file(volume, file);
    trib_blocks_close(&volume->blocks);
    trib_blocks_close(&volume->raw);
    free(volume);
}

static void count_used(struct trib_volume *volume, uint64_t blocks) {
    volume->stats.blocks_used += blocks;
    if (volume->stats.blocks_used > volume->stats.blocks_used_peak)
        volume->stats.blocks_used_peak = volume->stats.blocks_used;
}

/* Free blocks for a file: `needed` of them matter now, `want` (with the window) would be nice. */
static struct trib_block_run find_space(struct trib_volume *volume, const struct file *file, uint64_t needed,
                                        uint64_t want) {
    struct trib_blocks *blocks = &volume->blocks;
    if (volume->config.allocation == TRIB_ALLOCATE_FIRST_FIT)
        return trib_blocks_find_lowest(blocks, want);
    if (file->map.count) {
        const struct trib_extent *last = &file->map.extents[file->map.count - 1];
        uint64_t goal = (uint64_t)last->lba + last->count;
        uint64_t limit = goal + want < blocks->count ? goal + want : blocks->count;
        uint64_t room = goal < limit ? trib_blocks_next_taken(blocks, goal, limit) - goal : 0;
        if (room >= needed)
            return (struct trib_block_run){goal, room};
    }
    struct trib_block_run run = trib_blocks_find_near(blocks, volume->cursor, want);
    if (run.count)
        volume->cursor = run.lba + run.count;
    return run;
}

/* Maps a run at the start of the hole [page, page + needed); what it covers is written to `out`. */
static int map_hole(struct trib_volume *volume, struct file *file, uint64_t page, uint32_t needed,
                    struct trib_extent *out) {
    if (trib_extent_map_reserve(&file->map, 1))
        return -ENOMEM;
    bool grows = trib_extent_map_find(&file->map, page) == file->map.count;
    struct trib_block_run run = grows ? file->window : (struct trib_block_run){0};
    if (!run.count) {
        uint64_t want = grows && volume->config.window_blocks > needed ? volume->config.window_blocks : needed;
        run = find_space(volume, file, needed, want);
        if (!run.count) {
            drop_all_windows(volume);
            run = find_space(volume, file, needed, needed);
        }
        if (!run.count)
            return -ENOSPC;
        trib_blocks_take(&volume->blocks, run);
    }
    uint32_t taken = run.count < needed ? (uint32_t)run.count : needed;
    if (grows) {
        bool had_window = file->window.count;
        file->window = (struct trib_block_run){run.lba + taken, run.count - taken};
        if (file->window.count && !had_window)
            DL_APPEND(volume->windows, file);
        else if (!file->window.count && had_window)
            DL_DELETE(volume->windows, file);
    }
    *out = (struct trib_extent){page, (uint32_t)run.lba, taken};
    trib_extent_map_insert(&file->map, *out);
    count_used(volume, taken);
    return 0;
}

static int write_pages(struct trib_volume *volume, struct file *file, uint64_t page, uint64_t end,
                       const struct trib_event *cause) {
    struct run_emitter emitter = {.volume = volume, .cause = cause};
    while (page < end) {
        struct trib_extent run = trib_extent_map_at(&file->map, page, end);
        int error = 0;
        if (run.lba == UINT32_MAX)
            error = map_hole(volume, file, page, run.count, &run);
        if (error) {
            int emit_error = emit_pending(&emitter);
            return emit_error ? emit_error : error;
        }
        error = emit(&emitter, run.lba, run.count);
        if (error)
            return error;
        page += run.count;
    }
    return emit_pending(&emitter);
}

static int flush_tail(struct trib_volume *volume, struct file *file) {
    uint64_t page = file->tail_page;
    if (page == NO_PAGE)
        return 0;
    bool again = page == file->partial_page; /* not: an update of a page that was full */
    int error = write_pages(volume, file, page, page + 1, &file->tail_cause);
    if (error)
        return error;
    volume->stats.tail_rewrites += again;
    file->partial_page = page;
    file->tail_page = NO_PAGE;
    return 0;
}

static int write_file(struct trib_volume *volume, struct file *file, const struct trib_event *write) {
    uint64_t end_bytes = write->offset_bytes + write->length_bytes;
    uint64_t first = write->offset_bytes / TRIB_BLOCK_BYTES;
    uint64_t end = end_bytes / TRIB_BLOCK_BYTES; /* of the pages whose last byte is written */
    bool has_tail = end_bytes % TRIB_BLOCK_BYTES;
    bool covers_tail = file->tail_page >= first && file->tail_page < end;

    if (has_tail && !covers_tail && file->tail_page != end) {
        int error = flush_tail(volume, file);
        if (error)
            return error;
    }
    if (first < end) {
        int error = write_pages(volume, file, first, end, write);
        if (error)
            return error;
        if (file->partial_page >= first && file->partial_page < end) {
            volume->stats.tail_rewrites++;
            file->partial_page = NO_PAGE;
        }
        if (covers_tail)
            file->tail_page = NO_PAGE;
    }
    if (has_tail) {
        file->tail_page = end;
        file->tail_cause = *write;
    }
    if (end_bytes > file->size_bytes)
        file->size_bytes = end_bytes;
    return 0;
}

static int check_range(const struct trib_event *event, bool to_end_allowed) {
    if (!event->length_bytes)
        return -EINVAL;
    if (to_end_allowed && event->length_bytes == TRIB_LENGTH_TO_END)
        return 0;
    return event->length_bytes > UINT64_MAX - event->offset_bytes ? -EINVAL : 0;
}

/* Block range of an event on file 0, cut at nothing: the caller judges what lies beyond the drive.
 */
static int raw_range(const struct trib_volume *volume, const struct trib_event *event, struct trib_block_run *out) {
    uint64_t drive_bytes = volume->config.blocks * TRIB_BLOCK_BYTES;
    uint64_t length_bytes = event->length_bytes;
    if (length_bytes == TRIB_LENGTH_TO_END)
        length_bytes = event->offset_bytes < drive_bytes ? drive_bytes - event->offset_bytes : 0;
    if (event->offset_bytes % TRIB_BLOCK_BYTES || length_bytes % TRIB_BLOCK_BYTES || !length_bytes)
        return -EINVAL;
    *out = (struct trib_block_run){event->offset_bytes / TRIB_BLOCK_BYTES, length_bytes / TRIB_BLOCK_BYTES};
    return 0;
}

static bool raw_is_beyond(const struct trib_volume *volume, struct trib_block_run run) {
    return run.lba + run.count > volume->config.blocks;
}

static bool raw_may_touch(struct trib_volume *volume, struct trib_block_run run) {
    if (!trib_raw_conflicts(&volume->blocks, &volume->raw, run))
        return true;
    drop_all_windows(volume); /* a reservation is no owner */
    return !trib_raw_conflicts(&volume->blocks, &volume->raw, run);
}

static int raw_write(struct trib_volume *volume, const struct trib_event *write) {
    struct trib_block_run run;
    int error = raw_range(volume, write, &run);
    if (error)
        return error;
    if (raw_is_beyond(volume, run))
        return -ENOSPC;
    if (!volume->raw.words && trib_blocks_open(&volume->raw, volume->config.blocks))
        return -ENOMEM;
    if (!raw_may_touch(volume, run))
        return -EINVAL;
    count_used(volume, trib_raw_claim(&volume->blocks, &volume->raw, run));
    struct run_emitter emitter = {volume, write, run.lba, run.count};
    return emit_pending(&emitter);
}

static int raw_kill(struct trib_volume *volume, const struct trib_event *death) {
    struct trib_block_run run;
    int error = raw_range(volume, death, &run);
    if (error)
        return error;
    if (raw_is_beyond(volume, run))
        return -EINVAL;
    if (!raw_may_touch(volume, run))
        return -EINVAL;
    struct run_emitter emitter = {volume, NULL, run.lba, run.count};
    error = emit_pending(&emitter);
    if (!error)
        volume->stats.blocks_used -= trib_raw_release(&volume->blocks, &volume->raw, run);
    return error;
}

int trib_volume_write(struct trib_volume *volume, const struct trib_event *write) {
    if (check_range(write, false))
        return -EINVAL;
    if (!write->file)
        return raw_write(volume, write);
    struct file *file = find_or_add_file(volume, write->file);
    if (!file)
        return -ENOMEM;
    int error = write_file(volume, file, write);
    if (error && !file->size_bytes && !file->map.count) /* nothing of it came to be */
        forget_file(volume, file);
    return error;
}

int trib_volume_sync(struct trib_volume *volume, const struct trib_event *sync) {
    if (check_range(sync, true))
        return -EINVAL;
    struct file *file = sync->file ? find_file(volume, sync->file) : NULL;
    if (!file)
        return 0;
    bool whole = sync->cause == TRIB_CAUSE_CLOSE || sync->length_bytes == TRIB_LENGTH_TO_END;
    uint64_t begin_page = sync->offset_bytes / TRIB_BLOCK_BYTES;
    uint64_t last_page = whole ? NO_PAGE : (sync->offset_bytes + sync->length_bytes - 1) / TRIB_BLOCK_BYTES;
    bool reaches_tail =
        file->tail_page <= last_page && (file->tail_page >= begin_page || sync->cause == TRIB_CAUSE_CLOSE);
    if (reaches_tail) {
        int error = flush_tail(volume, file);
        if (error)
            return error;
    }
    if (sync->cause != TRIB_CAUSE_RANGE_SYNC)
        drop_window(volume, file);
    return 0;
}

/* The file keeps its blocks: the drive learns of the death when they are written again. */
static bool keeps_blocks(const struct trib_event *death) {
    return death->cause == TRIB_CAUSE_OVERWRITE || death->cause == TRIB_CAUSE_REUSE;
}

/* The blocks of an extent that hold pages of [page, end). */
static struct trib_block_run overlap(const struct trib_extent *extent, uint64_t page, uint64_t end) {
    uint64_t from = extent->page > page ? extent->page : page;
    uint64_t stop = extent->page + extent->count < end ? extent->page + extent->count : end;
    return (struct trib_block_run){extent->lba + (from - extent->page), stop - from};
}

/* Discards and unmaps pages [page, end). First what can fail, then what changes the mapping. */
static int kill_pages(struct trib_volume *volume, struct file *file, uint64_t page, uint64_t end) {
    struct trib_extent_map *map = &file->map;
    struct run_emitter emitter = {.volume = volume};
    uint32_t first = trib_extent_map_find(map, page), last;
    int error = trib_extent_map_reserve(map, 1);
    for (last = first; last < map->count && map->extents[last].page < end && !error; last++) {
        struct trib_block_run run = overlap(&map->extents[last], page, end);
        error = emit(&emitter, run.lba, run.count);
    }
    if (!error)
        error = emit_pending(&emitter);
    if (error)
        return error;
    for (uint32_t i = first; i < last; i++) {
        struct trib_block_run run = overlap(&map->extents[i], page, end);
        trib_blocks_release(&volume->blocks, run);
        volume->stats.blocks_used -= run.count;
    }
    trib_extent_map_remove(map, page, end);
    return 0;
}

static int kill_range(struct trib_volume *volume, struct file *file, const struct trib_event *death) {
    uint64_t begin = death->offset_bytes;
    bool to_end = death->length_bytes == TRIB_LENGTH_TO_END || begin + death->length_bytes >= file->size_bytes;
    uint64_t page = begin / TRIB_BLOCK_BYTES + (begin % TRIB_BLOCK_BYTES != 0);
    uint64_t end = to_end ? NO_PAGE : (begin + death->length_bytes) / TRIB_BLOCK_BYTES;
    if (page < end) {
        int error = kill_pages(volume, file, page, end);
        if (error)
            return error;
        if (file->tail_page >= page && file->tail_page < end)
            file->tail_page = NO_PAGE;
        if (file->partial_page >= page && file->partial_page < end)
            file->partial_page = NO_PAGE;
    }
    if (!to_end)
        return 0;
    drop_window(volume, file);
    if (begin < file->size_bytes)
        file->size_bytes = begin;
    if (!begin)
        forget_file(volume, file);
    return 0;
}

int trib_volume_kill(struct trib_volume *volume, const struct trib_event *death) {
    if (check_range(death, true))
        return -EINVAL;
    if (keeps_blocks(death))
        return 0;
    if (!death->file)
        return raw_kill(volume, death);
    struct file *file = find_file(volume, death->file);
    return file ? kill_range(volume, file, death) : 0;
}

static int read_blocks(struct trib_volume *volume, uint64_t lba, uint64_t count) {
    const struct trib_volume_sink *sink = &volume->sink;
    return sink->read ? sink->read(sink->arg, lba, (uint32_t)count) : 0;
}

int trib_volume_read(struct trib_volume *volume, const struct trib_event *read) {
    if (check_range(read, false))
        return -EINVAL;
    if (!read->file) {
        struct trib_block_run run;
        if (raw_range(volume, read, &run) || raw_is_beyond(volume, run))
            return -EINVAL;
        return read_blocks(volume, run.lba, run.count);
    }
    const struct file *file = find_file(volume, read->file);
    uint64_t page = read->offset_bytes / TRIB_BLOCK_BYTES;
    uint64_t end = (read->offset_bytes + read->length_bytes - 1) / TRIB_BLOCK_BYTES + 1;
    uint32_t index = file ? trib_extent_map_find(&file->map, page) : 0;
    for (; file && index < file->map.count && file->map.extents[index].page < end; index++) {
        struct trib_block_run run = overlap(&file->map.extents[index], page, end);
        int error = read_blocks(volume, run.lba, run.count);
        if (error)
            return error;
    }
    return 0;
}

void trib_volume_statistics(const struct trib_volume *volume, struct trib_volume_stats *out) {
    *out = volume->stats;
    out->extents = 0;
    for (const struct file *file = volume->files; file; file = file->hh.next)
        out->extents += file->map.count;
}

uint64_t trib_volume_lookup(const struct trib_volume *volume, uint64_t file_id, uint64_t offset_bytes) {
    uint64_t page = offset_bytes / TRIB_BLOCK_BYTES;
    if (!file_id) {
        bool written = page < volume->config.blocks && volume->raw.words && trib_blocks_is_taken(&volume->raw, page);
        return written ? page : TRIB_LBA_UNKNOWN;
    }
    const struct file *file = find_file(volume, file_id);
    if (!file)
        return TRIB_LBA_UNKNOWN;
    uint32_t lba = trib_extent_map_at(&file->map, page, page + 1).lba;
    return lba == UINT32_MAX ? TRIB_LBA_UNKNOWN : lba;
}
