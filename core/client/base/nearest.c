/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 32
#define FAR_AWAY 99

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

unsigned trib_edits(const char *a, const char *b) {
    size_t a_bytes = strlen(a), b_bytes = strlen(b);
    unsigned rows[3][WORD_MAX + 1] = {0}; /* of the table: this one and the two before it */

    if (a_bytes >= WORD_MAX || b_bytes >= WORD_MAX)
        return strcmp(a, b) == 0 ? 0 : FAR_AWAY;
    for (unsigned j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_bytes; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *over = rows[(i + 1) % 3];

        row[0] = i;
        for (unsigned j = 1; j <= b_bytes; j++) {
            bool is_same = a[i - 1] == b[j - 1],
                 is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !is_same);
            if (is_swap)
                row[j] = least(row[j], over[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

bool trib_is_near(const char *typed, const char *word) {
    unsigned edits = trib_edits(typed, word);

    return edits > 0 && edits <= 2 && (size_t)edits * 3 <= strlen(word);
}
