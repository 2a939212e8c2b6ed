/* SPDX-License-Identifier: Apache-2.0 */
/* VMware's vscsi records as libCacheSim has them (traceReader, vscsi.h: CloudPhysics traces),
 * little endian, packed: version 1  u32 serial, u32 length, u32 nSG, u16 cmd, u16 ver, u64 lbn, u64
 * ts          32 bytes version 2  u16 cmd, u16 ver, u32 serial, u32 length, u32 nSG, u64 lbn, u64
 * ts, u64 rt  40 bytes The high byte of ver is the version; length in bytes, lbn in sectors, ts in
 * microseconds; cmd is the SCSI operation code (SBC-3). */
#include <string.h>

#include "import/formats.h"

#define BYTES_V1 32
#define BYTES_V2 40

static uint64_t little(const unsigned char *bytes, unsigned count) {
    uint64_t value = 0;

    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

static bool all_of_version(const unsigned char *head, size_t length, size_t record, size_t ver) {
    unsigned version = record == BYTES_V1 ? 1 : 2;

    for (size_t at = 0; at < 2; at++)
        if ((at + 1) * record > length || head[at * record + ver + 1] != version)
            return at > 0 && (at + 1) * record > length; /* a file of one record */
    return true;
}

static size_t vscsi_record_bytes(const unsigned char *head, size_t length) {
    if (all_of_version(head, length, BYTES_V2, 2))
        return BYTES_V2;
    return all_of_version(head, length, BYTES_V1, 14) ? BYTES_V1 : 0;
}

static enum trib_import_verdict kind_of(uint64_t command, enum trib_import_kind *out) {
    switch (command) {
    case 0x08: /* READ(6), (10), (12), (16) */
    case 0x28:
    case 0xa8:
    case 0x88:
        *out = TRIB_IMPORT_READ;
        return TRIB_IMPORT_REQUEST;
    case 0x0a: /* WRITE(6), (10), (12), (16) */
    case 0x2a:
    case 0xaa:
    case 0x8a:
    case 0x2e: /* WRITE AND VERIFY(10), (16) */
    case 0x8e:
        *out = TRIB_IMPORT_WRITE;
        return TRIB_IMPORT_REQUEST;
    default: /* UNMAP and WRITE SAME have their ranges in data that the trace lacks */
        return TRIB_IMPORT_NOTHING;
    }
}

static enum trib_import_verdict vscsi_record(const unsigned char *record, size_t length,
                                             struct trib_import_request *out) {
    bool second = length == BYTES_V2;
    const unsigned char *command = record + (second ? 0 : 12);
    uint64_t sector = little(record + 16, 8), time_us = little(record + 24, 8);

    if (command[3] != (second ? 2 : 1) || sector > UINT64_MAX / TRIB_SECTOR_BYTES ||
        __builtin_mul_overflow(time_us, 1000u, &out->time_ns))
        return TRIB_IMPORT_MALFORMED;
    enum trib_import_verdict verdict = kind_of(little(command, 2), &out->kind);
    if (verdict != TRIB_IMPORT_REQUEST)
        return verdict;
    return trib_import_range(out, sector * TRIB_SECTOR_BYTES, little(record + (second ? 8 : 4), 4));
}

const struct trib_import_format trib_import_vscsi = {
    .name = "vscsi",
    .summary = "VMware's vscsi records (libCacheSim), version 1 or 2",
    .record_bytes = vscsi_record_bytes,
    .record = vscsi_record,
    .guessable = true,
};
