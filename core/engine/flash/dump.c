/* SPDX-License-Identifier: Apache-2.0 */
/* State as JSON, for plots: docs/formats/drive-dump.md. Every value is a number, a boolean or one
 * of our own words, so nothing needs escaping. */
#include <errno.h>
#include <inttypes.h>

#include "flash/internal.h"

#define DUMP_VERSION 1

static void dump_geometry(const struct trib_flash *f, FILE *out) {
    fprintf(out,
            "{\"format\":\"tributary-drive-dump\",\"version\":%d,\n"
            " \"geometry\":{\"logical_pages\":%" PRIu64 ",\"physical_pages\":%" PRIu64
            ",\"superblock_pages\":%u,\"superblocks\":%u,\"streams\":%u,\"internal_streams\":%u,"
            "\"gc\":\"%s\",\"victim\":\"%s\",\"gc_free_low\":%u,\"open_max\":%u,\"seed\":%" PRIu64 "},\n",
            DUMP_VERSION, f->logical_pages, f->physical_pages, f->superblock_pages, f->superblocks,
            f->external_streams - 1, f->classes - f->external_streams, trib_gc_rules[f->config.gc].name,
            trib_victim_rules[f->config.victim].name, f->free_low, f->open_max, f->config.seed);
}

static void dump_counters(const struct trib_flash *f, FILE *out) {
    struct trib_flash_stats s;
    trib_flash_statistics(f, &s);
    fprintf(out,
            " \"counters\":{\"host_pages\":%" PRIu64 ",\"gc_pages\":%" PRIu64 ",\"erases\":%" PRIu64
            ",\"discarded_pages\":%" PRIu64 ",\"read_pages\":%" PRIu64 ",\"remapped_writes\":%" PRIu64
            ",\"shared_pages\":%" PRIu64 ",\"misplaced_pages\":%" PRIu64 ",\"early_closes\":%" PRIu64
            ",\"padded_pages\":%" PRIu64 ",\"mapped_pages\":%" PRIu64,
            s.host_pages, s.gc_pages, s.erases, s.discarded_pages, s.read_pages, s.remapped_writes, s.shared_pages,
            s.misplaced_pages, s.early_closes, s.padded_pages, s.mapped_pages);
    fprintf(out,
            ",\"free_superblocks\":%" PRIu64 ",\"open_superblocks\":%" PRIu64 ",\"open_superblocks_peak\":%" PRIu64
            ",\"closed_superblocks\":%" PRIu64 ",\"erase_count_min\":%u,\"erase_count_max\":%u,"
            "\"erase_count_mean\":%.6g,\"virtual_seconds\":%.9g,\"write_latency_us_mean\":%.6g,"
            "\"write_latency_us_p99\":%.6g",
            s.free_superblocks, s.open_superblocks, s.open_superblocks_peak, s.closed_superblocks, s.erase_count_min,
            s.erase_count_max, s.erase_count_mean, s.virtual_seconds, s.write_latency_us_mean, s.write_latency_us_p99);
    if (f->map)
        fprintf(out,
                ",\"map_lookups\":%" PRIu64 ",\"map_misses\":%" PRIu64 ",\"map_reads\":%" PRIu64
                ",\"map_programs\":%" PRIu64 ",\"map_evictions\":%" PRIu64 ",\"map_gc_updates\":%" PRIu64
                ",\"map_copies\":%" PRIu64 ",\"map_cache_bytes\":%" PRIu64,
                s.map_lookups, s.map_misses, s.map_reads, s.map_programs, s.map_evictions, s.map_gc_updates,
                s.map_copies, s.map_cache_bytes);
    fputs("},\n", out);
}

static void dump_streams(const struct trib_flash *f, FILE *out) {
    fputs(" \"streams\":[", out);
    for (uint32_t c = 0; c < f->classes; c++) {
        const struct flash_traffic *now = &f->streams[c].traffic, *then = &f->streams[c].traffic_at_reset;
        fprintf(out,
                "%s\n  {\"stream\":%u,\"internal\":%s,\"host_pages\":%" PRIu64 ",\"gc_pages_out\":%" PRIu64
                ",\"gc_pages_in\":%" PRIu64,
                c ? "," : "", flash_class_number(f, c), flash_class_is_internal(f, c) ? "true" : "false",
                now->host_pages - then->host_pages, now->gc_pages_out - then->gc_pages_out,
                now->gc_pages_in - then->gc_pages_in);
        if (f->streams[c].substream)
            fprintf(out, ",\"substream\":%u", f->streams[c].substream);
        fputc('}', out);
    }
    fputs("],\n", out);
}

static void dump_superblock(const struct trib_flash *f, uint32_t i, FILE *out) {
    uint32_t class = f->superblock_class[i];
    fprintf(out, "%s\n  {", i ? "," : "");
    if (!flash_is_closed(f, i) && !flash_open_stream(f, i)) {
        fprintf(out, "\"state\":\"free\",\"erases\":%u}", f->erase_counts[i]);
        return;
    }
    fprintf(out, "\"state\":\"%s\",\"stream\":%u,\"internal\":%s,\"valid\":%u,\"erases\":%u",
            flash_is_closed(f, i) ? "closed" : "open", flash_class_number(f, class),
            flash_class_is_internal(f, class) ? "true" : "false", flash_valid_pages(f, i), f->erase_counts[i]);
    if (flash_is_closed(f, i))
        fprintf(out, ",\"age\":%" PRIu64, f->host_clock - f->closed_at[i]);
    fputc('}', out);
}

int trib_flash_dump(const struct trib_flash *f, FILE *out) {
    dump_geometry(f, out);
    dump_counters(f, out);
    dump_streams(f, out);
    fputs(" \"superblocks\":[", out);
    for (uint32_t i = 0; i < f->superblocks; i++)
        dump_superblock(f, i, out);
    fputs("]}\n", out);
    return fflush(out) || ferror(out) ? -EIO : 0;
}
