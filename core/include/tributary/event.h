/* SPDX-License-Identifier: Apache-2.0 */
/* The one record of Tributary. Adapters build it, the trace stores it, tests and fuzzers make it, replay feeds it.
 * Time is logical (host bytes written), so the same events always give the same answer, live or replayed.
 * Thread safety: plain data. Layout: 64 bytes, one cache line, fixed for the lifetime of a major version. */
#ifndef TRIBUTARY_EVENT_H
#define TRIBUTARY_EVENT_H

#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_BLOCK_BYTES      4096u      /* the drive's logical page */
#define TRIB_STREAM_UNDECIDED UINT16_MAX /* the pipeline asks the policy */
#define TRIB_LBA_UNKNOWN      UINT64_MAX /* the block address is not known yet */
#define TRIB_LENGTH_TO_END    UINT64_MAX /* a death from offset to the end of the file */
#define TRIB_LEVEL_UNKNOWN    INT8_MIN
#define TRIB_ACTIVITY_UNKNOWN UINT8_MAX

enum trib_event_kind {
    TRIB_EVENT_WRITE = 1, /* host data for [offset, offset + length) */
    TRIB_EVENT_DEATH = 2, /* [offset, offset + length) is no longer wanted */
    /* 3 was a note of a drive's collector. Nobody ever wrote one; readers of traces skip it. */
    TRIB_EVENT_SYNC = 4, /* buffered tail pages of the file must reach the drive */
    TRIB_EVENT_READ = 5, /* host read */
};

enum trib_cause {
    TRIB_CAUSE_NONE = 0,
    /* deaths */
    TRIB_CAUSE_OVERWRITE = 1,
    TRIB_CAUSE_TRIM = 2,
    TRIB_CAUSE_UNLINK = 3,
    TRIB_CAUSE_TRUNCATE = 4,
    TRIB_CAUSE_RENAME_OVER = 5,
    TRIB_CAUSE_REUSE = 6, /* the file goes on under a new name and is written again from the start */
    /* syncs */
    TRIB_CAUSE_FSYNC = 16,
    TRIB_CAUSE_RANGE_SYNC = 17,
    TRIB_CAUSE_CLOSE = 18,
};

/* What a file is for. An adapter that cannot tell uses UNKNOWN. Values are stored in traces: append only. A commit log
 * (Cassandra) or a redo log is a WAL, a table's data file an SST, whatever the engine calls them. */
enum trib_file_kind {
    TRIB_FILE_UNKNOWN = 0,
    TRIB_FILE_WAL = 1,
    TRIB_FILE_SST = 2,
    TRIB_FILE_BLOB = 3,
    TRIB_FILE_MANIFEST = 4,
    TRIB_FILE_OPTIONS = 5,
    TRIB_FILE_LOG = 6,     /* a log for people */
    TRIB_FILE_CURRENT = 7, /* CURRENT, IDENTITY, LOCK: tiny control files */
    TRIB_FILE_TEMP = 8,
    TRIB_FILE_OTHER = 9,
    TRIB_FILE_COLD = 10,         /* prefilled by the harness, never dies */
    TRIB_FILE_SST_INDEX = 11,    /* beside the data file: Cassandra's Index.db, Summary.db */
    TRIB_FILE_SST_META = 12,     /* beside the data file: CompressionInfo.db, Statistics.db, Filter.db */
    TRIB_FILE_DATABASE = 13,     /* pages updated in place */
    TRIB_FILE_JOURNAL = 14,      /* images of such pages, to undo or to repeat: rollback journal, doublewrite file */
    TRIB_FILE_INTERMEDIATE = 15, /* between two stages of a compiler: .s .i */
    TRIB_FILE_BUILD_NOTE = 16,   /* what a build tool notes down: .d .cmd .rc */
    TRIB_FILE_OBJECT = 17,       /* .o */
    TRIB_FILE_LINKED = 18,       /* made of objects: archives, modules, programs */
    TRIB_FILE_KIND_COUNT = 19,
};

/* Linux write-life hints (fcntl F_SET_RW_HINT; same numbers as RocksDB's Env::WriteLifeTimeHint). */
enum trib_write_hint {
    TRIB_HINT_NOT_SET = 0,
    TRIB_HINT_NONE = 1,
    TRIB_HINT_SHORT = 2,
    TRIB_HINT_MEDIUM = 3,
    TRIB_HINT_LONG = 4,
    TRIB_HINT_EXTREME = 5,
};

/* Who writes: the call path and what the engine says of it. 16 bytes. */
struct trib_context {
    uint64_t signature;     /* stable 64-bit id of the call path; 0 = unknown */
    uint16_t column_family; /* 16-bit hash of the column family's name; 0 = unknown */
    uint16_t tenant;     /* in a session the program's number, else as the adapter says; dense from 0 within a trace */
    uint8_t file_kind;   /* enum trib_file_kind */
    uint8_t write_hint;  /* enum trib_write_hint */
    uint8_t io_activity; /* the engine's own number (RocksDB Env::IOActivity); TRIB_ACTIVITY_UNKNOWN */
    int8_t level;        /* LSM output level; TRIB_LEVEL_UNKNOWN */
};

struct trib_event {
    uint64_t clock_bytes;  /* host bytes written before this event, over all files */
    uint64_t file;         /* identity of the file (device and inode); 0 = the drive's own address space */
    uint64_t offset_bytes; /* within the file */
    uint64_t length_bytes; /* > 0 for writes; TRIB_LENGTH_TO_END allowed for deaths and syncs */
    struct trib_context who;
    uint64_t wall_ns; /* monotonic, since the trace began; 0 = unknown */
    uint32_t thread;  /* small number of the submitting thread; in a session process << 12 | thread, both modulo */
    uint16_t stream;  /* as the host named it, or TRIB_STREAM_UNDECIDED */
    uint8_t kind;     /* enum trib_event_kind */
    uint8_t cause;    /* enum trib_cause */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct trib_context) == 16, "trib_context is stored in traces");
_Static_assert(sizeof(struct trib_event) == 64, "trib_event is one cache line");
#endif

/* Identity of a file for trib_event.file: stable over rename and restart. Never 0. */
static inline uint64_t trib_file_identity(uint64_t device, uint64_t inode) {
    uint64_t h = (device * 0x9E3779B97F4A7C15ull) ^ (inode + 0x632BE59BD9B4E019ull);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ull;
    h ^= h >> 32;
    return h ? h : 1;
}

TRIB_C_END
#endif
