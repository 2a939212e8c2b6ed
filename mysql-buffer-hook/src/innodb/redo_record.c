/* SPDX-License-Identifier: Apache-2.0 */
#include "innodb/redo_record.h"

#include <errno.h>
#include <limits.h>

enum record {
    SAME_PAGE = 0x80,
    TYPE = 0x70,
    LENGTH = 0x0f,
    RESERVED = 0x60,
    END_MARKS = 1, /* 0 and 1 end a mini-transaction in the log; in its own buffer there is none */
};
#define LENGTH_VARINT_MAX 3u /* bytes: a record is shorter than 2 MiB + 16 KiB + 128 */

struct input {
    const uint8_t *at, *end;
};

/* mlog_decode_varint: the number of leading ones of the first byte says how many follow, and no number has two
 * spellings. */
static bool get_number(struct input *in, uint32_t *number) {
    static const uint32_t first_of[5] = {0, 0x80, 0x4080, 0x204080, 0x10204080};
    if (in->at >= in->end)
        return false;
    uint8_t lead = *in->at;
    unsigned more = lead < 0x80 ? 0 : lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t bits = more < 4 ? lead & (0x7fu >> more) : 0;

    if ((size_t)(in->end - in->at) <= more || lead > 0xf0)
        return false;
    for (unsigned i = 1; i <= more; i++)
        bits = bits << 8 | in->at[i];
    in->at += more + 1;
    *number = bits + first_of[more];
    return true;
}

struct record_head {
    uint8_t flags;
    const uint8_t *body; /* after type and length */
    uint32_t body_bytes; /* may reach beyond the block */
};

static bool get_head(struct input *in, struct record_head *head) {
    const uint8_t *begin = in->at;

    head->flags = *in->at++;
    head->body_bytes = head->flags & LENGTH;
    if (head->body_bytes == 0) {
        const uint8_t *number_at = in->at;
        if (!get_number(in, &head->body_bytes) || (size_t)(in->at - number_at) > LENGTH_VARINT_MAX)
            return false;
        /* The number counts from the type's byte; the shortest record that needs it is of 16 bytes. */
        head->body_bytes += (uint32_t)(LENGTH - (in->at - number_at));
    }
    head->body = in->at;
    return head->flags > END_MARKS && in->at > begin;
}

/* A page is named. False: a name that does not fit into the record. */
static bool name_page(struct trib_redo_cursor *cursor, struct input body, uint32_t body_bytes, bool *another) {
    const uint8_t *begin = body.at;
    uint32_t space, page;

    if (!get_number(&body, &space) || !get_number(&body, &page) || (size_t)(body.at - begin) > body_bytes)
        return false;
    *another = !cursor->in_page || cursor->space != space || cursor->page != page;
    cursor->in_page = true;
    cursor->space = space;
    cursor->page = page;
    return true;
}

int trib_redo_read(struct trib_redo_cursor *cursor, const uint8_t *block, size_t length_bytes,
                   struct trib_redo_page *pages, int capacity) {
    struct input in = {block, block + length_bytes};
    int count = 0;

    if (cursor->skip_bytes >= length_bytes) {
        cursor->skip_bytes -= (uint32_t)length_bytes;
        return 0;
    }
    in.at += cursor->skip_bytes;
    cursor->skip_bytes = 0;
    while (in.at < in.end) {
        struct record_head head;
        bool another = false;
        if (!get_head(&in, &head))
            return -EINVAL;
        bool named = !(head.flags & SAME_PAGE);
        if ((head.flags & TYPE) == RESERVED && (named || !cursor->in_page))
            return -EINVAL;
        if (named && !name_page(cursor, in, head.body_bytes, &another))
            return -EINVAL;
        if (another && count < capacity)
            pages[count] = (struct trib_redo_page){cursor->space, cursor->page};
        count += another && count < INT_MAX;
        size_t left = (size_t)(in.end - in.at);
        cursor->skip_bytes = head.body_bytes > left ? (uint32_t)(head.body_bytes - left) : 0;
        in.at += head.body_bytes > left ? left : head.body_bytes;
    }
    return count;
}
