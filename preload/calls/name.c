/* SPDX-License-Identifier: Apache-2.0 */
/* Names: files that are deleted or replaced. A file's data die with its last name, or, if this process
 * has written it through a descriptor that is still open, when that is closed. Only readers, or another process,
 * holding it open is not known here: then the data die with the name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/event.h>

#include "calls/calls.h"
#include "files/descriptors.h"
#include "files/names.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "quiet.h"
#include "record.h"
#include "sink.h"

bool trib_named_look(int folder, const char *path, int flags, struct trib_named *out) {
    struct stat stat;
    bool found = trib_sink_wanted() && TRIB_ASK(-1, TRIB_RAW(SYS_newfstatat, folder, path, &stat, flags)) == 0 &&
                 S_ISREG(stat.st_mode);

    if (found)
        *out = (struct trib_named){.file = trib_file_identity(stat.st_dev, stat.st_ino),
                                   .size_bytes = (uint64_t)stat.st_size,
                                   .links = stat.st_nlink};
    return found;
}

static void record_name_gone(const struct trib_named *was, uint8_t cause) {
    if (was->links == 1 && !trib_descriptors_unnamed(was->file))
        trib_record_death(was->file, 0, TRIB_LENGTH_TO_END, cause);
}

/* ---- deleted ---- */

TRIB_CALL int unlink(const char *path) {
    struct trib_named was = {0};
    bool tracked = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlink)(path);

    if (tracked && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int unlinkat(int folder, const char *path, int flags) {
    struct trib_named was = {0};
    bool tracked = !(flags & AT_REMOVEDIR) && trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlinkat)(folder, path, flags);

    if (tracked && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int remove(const char *path) {
    struct trib_named was = {0};
    bool tracked = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(remove)(path);

    if (tracked && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

/* ---- renamed ---- */

struct renaming {
    struct trib_named moved, was;
    bool has_moved, replaces;
};

/* Nothing ends if both names are of one file, for then the kernel leaves them both. */
static void begin_rename(struct renaming *rename, int old_folder, const char *old_path, int folder, const char *path) {
    rename->has_moved = trib_named_look(old_folder, old_path, AT_SYMLINK_NOFOLLOW, &rename->moved);
    rename->replaces = rename->has_moved && trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, &rename->was) &&
                       rename->moved.file != rename->was.file;
}

static void __attribute__((noinline)) send_name(uint64_t file, int folder, const char *path) {
    struct trib_name_text start = {.length = 0}, name;

    if (folder == AT_FDCWD)
        trib_folder_get(&start);
    trib_name_join(&start, path, &name);
    if (!trib_sink_name(file, name.bytes))
        trib_sink_lose_name();
}

static int end_rename(const struct renaming *rename, int result, int folder, const char *path) {
    int kept = errno;

    if (result != 0)
        return result;
    if (rename->replaces)
        record_name_gone(&rename->was, TRIB_CAUSE_RENAME_OVER);
    if (rename->has_moved)
        send_name(rename->moved.file, folder, path);
    errno = kept;
    return result;
}

TRIB_CALL int rename(const char *old_path, const char *path) {
    struct renaming renaming;

    begin_rename(&renaming, AT_FDCWD, old_path, AT_FDCWD, path);
    return end_rename(&renaming, TRIB_NEXT(rename)(old_path, path), AT_FDCWD, path);
}

TRIB_CALL int renameat(int old_folder, const char *old_path, int folder, const char *path) {
    struct renaming renaming;

    begin_rename(&renaming, old_folder, old_path, folder, path);
    return end_rename(&renaming, TRIB_NEXT(renameat)(old_folder, old_path, folder, path), folder, path);
}

TRIB_CALL int renameat2(int old_folder, const char *old_path, int folder, const char *path, unsigned flags) {
    struct renaming renaming;

    begin_rename(&renaming, old_folder, old_path, folder, path);
    bool exchanges = flags & RENAME_EXCHANGE && renaming.replaces; /* nothing ends, and both have new names */
    renaming.replaces &= !exchanges;
    int result = TRIB_NEXT(renameat2)(old_folder, old_path, folder, path, flags);
    if (exchanges && result == 0)
        send_name(renaming.was.file, old_folder, old_path);
    return end_rename(&renaming, result, folder, path);
}
