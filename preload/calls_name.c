/* SPDX-License-Identifier: Apache-2.0 */
/* Names: files that are deleted or replaced. A file's data die with its last name, or, if this process
 * has written it through a descriptor that is still open, when that is closed. Only readers, or another process,
 * holding it open is not known here: then the data die with the name. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tributary/event.h>

#include "calls.h"
#include "descriptors.h"
#include "next.h"
#include "quiet.h"
#include "raw.h"
#include "record.h"
#include "sink.h"

bool trib_named_look(int folder, const char *path, int flags, struct trib_named *out) {
    struct stat stat;
    bool found = trib_sink_wanted() && trib_may_ask() && TRIB_RAW(SYS_newfstatat, folder, path, &stat, flags) == 0 &&
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
    bool told = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlink)(path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int unlinkat(int folder, const char *path, int flags) {
    struct trib_named was = {0};
    bool told = !(flags & AT_REMOVEDIR) && trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(unlinkat)(folder, path, flags);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

TRIB_CALL int remove(const char *path) {
    struct trib_named was = {0};
    bool told = trib_named_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &was);
    int result = TRIB_NEXT(remove)(path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_UNLINK);
    return result;
}

/* ---- replaced ---- */

/* What renaming over `path` ends: nothing if both names are of one file, for then the kernel leaves them both. */
static bool look_replaced(int old_folder, const char *old_path, int folder, const char *path, struct trib_named *was) {
    struct trib_named moved;

    return trib_named_look(folder, path, AT_SYMLINK_NOFOLLOW, was) &&
           trib_named_look(old_folder, old_path, AT_SYMLINK_NOFOLLOW, &moved) && moved.file != was->file;
}

TRIB_CALL int rename(const char *old_path, const char *path) {
    struct trib_named was = {0};
    bool told = look_replaced(AT_FDCWD, old_path, AT_FDCWD, path, &was);
    int result = TRIB_NEXT(rename)(old_path, path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}

TRIB_CALL int renameat(int old_folder, const char *old_path, int folder, const char *path) {
    struct trib_named was = {0};
    bool told = look_replaced(old_folder, old_path, folder, path, &was);
    int result = TRIB_NEXT(renameat)(old_folder, old_path, folder, path);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}

TRIB_CALL int renameat2(int old_folder, const char *old_path, int folder, const char *path, unsigned flags) {
    struct trib_named was = {0};
    bool told =
        !(flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)) && look_replaced(old_folder, old_path, folder, path, &was);
    int result = TRIB_NEXT(renameat2)(old_folder, old_path, folder, path, flags);

    if (told && result == 0)
        record_name_gone(&was, TRIB_CAUSE_RENAME_OVER);
    return result;
}
