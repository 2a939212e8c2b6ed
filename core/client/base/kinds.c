/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <tributary/event.h>

struct rule {
    const char *pattern; /* `*` and [sets] of the last component, or of the whole path if it has a '/' */
    uint8_t kind;
};

/* The first that matches counts. */
static const struct rule rules[] = {
    /* RocksDB, LevelDB */
    {"[0-9]*[0-9].log", TRIB_FILE_WAL},
    {"*.sst", TRIB_FILE_SST},
    {"*.ldb", TRIB_FILE_SST},
    {"*.blob", TRIB_FILE_BLOB},
    {"MANIFEST-*", TRIB_FILE_MANIFEST},
    {"OPTIONS-*", TRIB_FILE_OPTIONS},
    {"CURRENT", TRIB_FILE_CURRENT},
    {"IDENTITY", TRIB_FILE_CURRENT},
    {"LOCK", TRIB_FILE_CURRENT},
    {"LOG", TRIB_FILE_LOG},
    {"LOG.old*", TRIB_FILE_LOG},
    {"*_LOG", TRIB_FILE_LOG}, /* with db_log_dir: the folder's path, with '_' for '/' */
    {"*_LOG.old*", TRIB_FILE_LOG},
    {"*.dbtmp", TRIB_FILE_TEMP},
    /* Cassandra */
    {"CommitLog-*", TRIB_FILE_WAL},
    {"*-Data.db", TRIB_FILE_SST},
    {"*-Index.db", TRIB_FILE_SST_INDEX},
    {"*-Summary.db", TRIB_FILE_SST_INDEX},
    {"*-Partitions.db", TRIB_FILE_SST_INDEX},
    {"*-Rows.db", TRIB_FILE_SST_INDEX},
    {"*-CompressionInfo.db", TRIB_FILE_SST_META},
    {"*-Statistics.db", TRIB_FILE_SST_META},
    {"*-Filter.db", TRIB_FILE_SST_META},
    {"*-Digest.crc32", TRIB_FILE_SST_META},
    {"*-TOC.txt", TRIB_FILE_SST_META},
    /* SQLite */
    {"*-journal", TRIB_FILE_JOURNAL},
    {"*-wal", TRIB_FILE_WAL},
    {"*.db", TRIB_FILE_DATABASE},
    {"*.db3", TRIB_FILE_DATABASE},
    {"*.sqlite", TRIB_FILE_DATABASE},
    {"*.sqlite3", TRIB_FILE_DATABASE},
    {"etilqs_*", TRIB_FILE_TEMP},
    /* MySQL, MariaDB */
    {"#ib_redo*", TRIB_FILE_WAL},
    {"ib_logfile*", TRIB_FILE_WAL},
    {"aria_log.*", TRIB_FILE_WAL},
    {"*bin.[0-9][0-9][0-9][0-9][0-9][0-9]", TRIB_FILE_WAL},
    {"binlog.[0-9][0-9][0-9][0-9][0-9][0-9]", TRIB_FILE_WAL},
    {"*.dblwr", TRIB_FILE_JOURNAL},
    {"*.ibd", TRIB_FILE_DATABASE},
    {"ibdata[0-9]*", TRIB_FILE_DATABASE},
    {"undo_[0-9]*", TRIB_FILE_DATABASE},
    {"undo[0-9][0-9][0-9]", TRIB_FILE_DATABASE},
    {"*.ibu", TRIB_FILE_DATABASE},
    {"*.MA[DI]", TRIB_FILE_DATABASE},
    {"*.MY[DI]", TRIB_FILE_DATABASE},
    {"ibtmp[0-9]*", TRIB_FILE_TEMP},
    {"*.ibt", TRIB_FILE_TEMP},
    /* PostgreSQL */
    {"*/pg_wal/*", TRIB_FILE_WAL},
    {"*/pgsql_tmp/*", TRIB_FILE_TEMP},
    {"*/base/[0-9]*/*", TRIB_FILE_DATABASE},
    {"*/global/[0-9]*", TRIB_FILE_DATABASE},
    /* Redis */
    {"*.aof", TRIB_FILE_WAL},
    {"temp-*.rdb", TRIB_FILE_TEMP},
    /* compilers and build tools */
    {"*.s", TRIB_FILE_INTERMEDIATE},
    {"*.i", TRIB_FILE_INTERMEDIATE},
    {"*.ii", TRIB_FILE_INTERMEDIATE},
    {"*.d", TRIB_FILE_BUILD_NOTE},
    {"*.cmd", TRIB_FILE_BUILD_NOTE},
    {"*.rc", TRIB_FILE_BUILD_NOTE},
    {"*.o", TRIB_FILE_OBJECT},
    {"*.a", TRIB_FILE_LINKED},
    {"*.so", TRIB_FILE_LINKED},
    {"*.so.*", TRIB_FILE_LINKED},
    {"*.ko", TRIB_FILE_LINKED},
    {"a.out", TRIB_FILE_LINKED},
    {"vmlinux*", TRIB_FILE_LINKED},
    /* anybody's */
    {"*.log", TRIB_FILE_LOG},
    {"*.tmp", TRIB_FILE_TEMP},
    {"tmp_obj_*", TRIB_FILE_TEMP}, /* git */
    {"tmp_pack_*", TRIB_FILE_TEMP},
    {"sort[a-zA-Z0-9][a-zA-Z0-9][a-zA-Z0-9][a-zA-Z0-9][a-zA-Z0-9][a-zA-Z0-9]", TRIB_FILE_TEMP},
};

/* ---- patterns ---- */

/* One character against a set; *pattern moves behind the set. No set is negated or holds a ']'. */
static bool in_set(const char **pattern, char c) {
    const char *at = *pattern + 1;
    bool found = false;

    for (; *at != ']'; at++) {
        char last = at[1] == '-' && at[2] != ']' ? at[2] : *at;
        found |= c >= *at && c <= last;
        at += last != *at ? 2 : 0;
    }
    *pattern = at + 1;
    return found;
}

/* As fnmatch(3) without flags in the C locale. On a mismatch only the last star needs to take more: what an earlier one
 * could take instead, the last one could as well. */
static bool matches(const char *pattern, const char *text) {
    const char *behind_star = NULL, *retry = NULL;

    while (*text) {
        const char *next = pattern;
        if (*pattern == '*') {
            behind_star = ++pattern;
            retry = text;
            continue;
        }
        bool fits = *pattern == '[' ? in_set(&next, *text) : *pattern == *text;
        if (fits) {
            pattern = *pattern == '[' ? next : pattern + 1;
            text++;
        } else if (behind_star) {
            pattern = behind_star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool is_plain(char c) {
    return c != '*' && c != '[' && c != ']';
}

/* Most rules are out by their first or last character. */
static bool may_match(const char *pattern, const char *text, char last) {
    char ends = pattern[strlen(pattern) - 1];

    return (!is_plain(*pattern) || *pattern == *text) && (!is_plain(ends) || ends == last);
}

uint8_t trib_kind_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    char last = length ? name[length - 1] : '/';

    if (!*path)
        return TRIB_FILE_UNKNOWN;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *pattern = rules[i].pattern, *text = strchr(pattern, '/') ? path : name;
        if (may_match(pattern, text, last) && matches(pattern, text))
            return rules[i].kind;
    }
    return TRIB_FILE_OTHER;
}
