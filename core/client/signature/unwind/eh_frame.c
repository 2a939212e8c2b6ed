/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/unwind/eh_frame.h"

#include <string.h>

enum { REGISTER_RA = 16 };

enum { PE_OMIT = 0xff, PE_FORMAT = 0x0f, PE_APPLICATION = 0x70, PE_INDIRECT = 0x80, PE_PCREL = 0x10 };

static uintptr_t read_value(struct trib_reader *reader, uint8_t encoding) {
    switch (encoding & PE_FORMAT) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return trib_read_bytes(reader, 8);
    case 0x01:
        return trib_read_uleb(reader);
    case 0x02:
        return trib_read_bytes(reader, 2);
    case 0x03:
        return trib_read_bytes(reader, 4);
    case 0x09:
        return (uintptr_t)trib_read_sleb(reader);
    case 0x0a:
        return (uintptr_t)trib_read_signed(reader, 2);
    case 0x0b:
        return (uintptr_t)trib_read_signed(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

uintptr_t trib_eh_pointer(struct trib_reader *reader, uint8_t encoding) {
    uintptr_t here = (uintptr_t)reader->at;
    if (encoding & PE_INDIRECT || ((encoding & PE_APPLICATION) != 0 && (encoding & PE_APPLICATION) != PE_PCREL))
        reader->failed = true;
    uintptr_t value = read_value(reader, encoding);
    return (encoding & PE_APPLICATION) == PE_PCREL ? here + value : value;
}

/* ---- CIE and FDE ---- */

static struct trib_reader read_record(const struct trib_segment *segment, uintptr_t address) {
    struct trib_reader reader = {.failed = true};
    if (address < segment->map_start || address >= segment->map_end)
        return reader;
    reader = trib_reader_over(address, segment->map_end);
    /* 0xffffffff, the 64-bit form, is longer than any module */
    uint64_t bytes = trib_read_bytes(&reader, 4);
    if (bytes < 4 || bytes > (uint64_t)(reader.end - reader.at))
        reader.failed = true;
    else
        reader.end = reader.at + bytes;
    return reader;
}

static void read_augmentation(struct trib_eh_entry *entry, struct trib_reader *reader, const char *augmentation) {
    uint64_t bytes = trib_read_uleb(reader);
    struct trib_reader data = *reader;
    trib_read_skip(reader, bytes);
    data.end = reader->at;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R')
            entry->pointer_encoding = trib_read_u8(&data);
        else if (*letter == 'P')
            read_value(&data, trib_read_u8(&data));
        else if (*letter == 'L')
            trib_read_u8(&data);
        else if (*letter == 'S')
            entry->is_signal_frame = true;
        else
            reader->failed |= *letter != 'B';
    }
    reader->failed |= data.failed;
}

static bool read_cie(struct trib_eh_entry *entry, const struct trib_segment *segment, uintptr_t address) {
    struct trib_reader reader = read_record(segment, address);
    trib_read_skip(&reader, 4); /* its id, 0 */
    uint8_t version = trib_read_u8(&reader);
    const char *augmentation = (const char *)reader.at;
    while (trib_read_u8(&reader)) {
    }
    if (reader.failed || (version != 1 && version != 3))
        return false;
    entry->code_align = trib_read_uleb(&reader);
    entry->data_align = trib_read_sleb(&reader);
    uint64_t return_column = version == 1 ? trib_read_u8(&reader) : trib_read_uleb(&reader);
    entry->has_augmentation_data = augmentation[0] == 'z';
    if (entry->has_augmentation_data)
        read_augmentation(entry, &reader, augmentation);
    else
        reader.failed |= augmentation[0] != '\0';
    entry->cie_instructions = reader;
    return !reader.failed && return_column == REGISTER_RA;
}

bool trib_eh_read(struct trib_eh_entry *entry, const struct trib_segment *segment, uintptr_t address,
                  uintptr_t target) {
    struct trib_reader reader = read_record(segment, address);
    uintptr_t id_at = (uintptr_t)reader.at;
    uint64_t cie_distance = trib_read_bytes(&reader, 4);
    if (reader.failed || cie_distance == 0 || !read_cie(entry, segment, id_at - cie_distance))
        return false;
    entry->start = trib_eh_pointer(&reader, entry->pointer_encoding);
    uintptr_t length = read_value(&reader, entry->pointer_encoding & PE_FORMAT);
    if (entry->has_augmentation_data)
        trib_read_skip(&reader, trib_read_uleb(&reader));
    entry->fde_instructions = reader;
    return !reader.failed && target >= entry->start && target - entry->start < length;
}

/* The FDE with the greatest start <= target, by the linker's sorted table; 0 if there is no such
 * table. */
uintptr_t trib_eh_search(const struct trib_segment *segment, uintptr_t target) {
    uintptr_t header = segment->eh_frame_hdr;
    if (header < segment->map_start || header >= segment->map_end)
        return 0;
    struct trib_reader reader = trib_reader_over(header, segment->map_end);
    uint8_t version = trib_read_u8(&reader), frame_encoding = trib_read_u8(&reader);
    uint8_t count_encoding = trib_read_u8(&reader), table_encoding = trib_read_u8(&reader);
    if (version != 1 || count_encoding == PE_OMIT || table_encoding != 0x3b) /* all linkers write 0x3b */
        return 0;
    read_value(&reader, frame_encoding);
    uint64_t count = read_value(&reader, count_encoding);
    if (reader.failed || count == 0 || count > (uint64_t)(reader.end - reader.at) / 8)
        return 0;
    int64_t wanted = (int64_t)(target - header);
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int32_t start;
        memcpy(&start, reader.at + 8 * middle, sizeof start);
        if (start <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t fde;
    if (low == 0)
        return 0;
    memcpy(&fde, reader.at + 8 * (low - 1) + 4, sizeof fde);
    return header + (uintptr_t)(intptr_t)fde;
}
