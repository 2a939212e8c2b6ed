/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/access.h"

#include <endian.h>
#include <errno.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/options.h"

/* A number, or -1. */
static long number_of(const char *text) {
    char *end;
    long number = strtol(text, &end, 10);

    return *text >= '0' && *text <= '9' && *end == '\0' ? number : -1;
}

static int add_user(struct trib_access *out, uid_t user) {
    if (out->user_count == TRIB_ACCESS_MAX)
        return -ENOSPC;
    out->users[out->user_count++] = user;
    return 0;
}

static int add_group(struct trib_access *out, const char *name, struct trib_error *error) {
    long number = number_of(name);
    const struct group *group = number >= 0 ? getgrgid((gid_t)number) : getgrnam(name);
    int rc = 0;

    if (!group && number < 0)
        return trib_fail(error, -EINVAL, "allow: there is no group '%.64s'", name);
    if (out->group_count == TRIB_ACCESS_MAX)
        return trib_fail(error, -ENOSPC, "allow: more than %u groups", TRIB_ACCESS_MAX);
    out->groups[out->group_count++] = group ? group->gr_gid : (gid_t)number;
    for (char **member = group ? group->gr_mem : NULL; member && *member && rc == 0; member++) {
        const struct passwd *user = getpwnam(*member);
        if (user)
            rc = add_user(out, user->pw_uid);
    }
    return rc ? trib_fail(error, rc, "allow: group '%.64s' has too many members; name users", name) : 0;
}

static int add(struct trib_access *out, const char *name, struct trib_error *error) {
    long number = number_of(name);

    if (strcmp(name, "*") == 0) {
        out->everyone = true;
        return 0;
    }
    if (name[0] == '@')
        return add_group(out, name + 1, error);
    const struct passwd *user = number >= 0 ? NULL : getpwnam(name);
    if (!user && number < 0)
        return trib_fail(error, -EINVAL, "allow: there is no user '%.64s' (a group is written @NAME)", name);
    int rc = add_user(out, user ? user->pw_uid : (uid_t)number);
    return rc ? trib_fail(error, rc, "allow: more than %u users", TRIB_ACCESS_MAX) : 0;
}

int trib_access_parse(struct trib_access *out, const char *text, struct trib_error *error) {
    struct trib_access access = {0};
    char *names = strdup(text), *rest = names, *name;
    int rc = names ? 0 : -ENOMEM;

    while (rc == 0 && (name = strsep(&rest, "+")))
        rc = *name ? add(&access, name, error) : 0;
    free(names);
    if (rc == 0)
        *out = access;
    return rc;
}

bool trib_access_allows(const struct trib_access *access, uid_t user, gid_t group) {
    if (access->everyone || user == 0 || user == geteuid())
        return true;
    for (unsigned i = 0; i < access->user_count; i++)
        if (access->users[i] == user)
            return true;
    for (unsigned i = 0; i < access->group_count; i++)
        if (access->groups[i] == group)
            return true;
    return false;
}

bool trib_access_has_others(const struct trib_access *access) {
    return access->everyone || access->user_count || access->group_count;
}

/* ---- as an ACL ---- */

struct acl {
    struct posix_acl_xattr_header head;
    struct posix_acl_xattr_entry entries[2 * TRIB_ACCESS_MAX + 5];
};

static void add_entry(struct acl *acl, unsigned *count, uint16_t tag, uint32_t id) {
    uint16_t rights = tag == ACL_GROUP_OBJ || tag == ACL_OTHER ? 0 : ACL_READ | ACL_WRITE;

    acl->entries[(*count)++] = (struct posix_acl_xattr_entry){htole16(tag), htole16(rights), htole32(id)};
}

/* In the order of numbers, each once, as the kernel wants them. */
static void add_sorted(struct acl *acl, unsigned *count, uint16_t tag, const uint32_t *ids, unsigned id_count) {
    uint64_t next = 0;

    for (;;) {
        uint64_t least = UINT64_MAX;
        for (unsigned i = 0; i < id_count; i++)
            if (ids[i] >= next && ids[i] < least)
                least = ids[i];
        if (least == UINT64_MAX)
            return;
        add_entry(acl, count, tag, (uint32_t)least);
        next = least + 1;
    }
}

int trib_access_admit(const struct trib_access *access, const char *path) {
    struct acl acl = {.head = {htole32(POSIX_ACL_XATTR_VERSION)}};
    uint32_t users[TRIB_ACCESS_MAX + 1] = {0}; /* root, too, where it has no power over files */
    unsigned count = 0;

    if (access->everyone)
        return -EINVAL;
    memcpy(users + 1, access->users, access->user_count * sizeof *users);
    add_entry(&acl, &count, ACL_USER_OBJ, ACL_UNDEFINED_ID);
    add_sorted(&acl, &count, ACL_USER, users, access->user_count + 1);
    add_entry(&acl, &count, ACL_GROUP_OBJ, ACL_UNDEFINED_ID);
    add_sorted(&acl, &count, ACL_GROUP, access->groups, access->group_count);
    add_entry(&acl, &count, ACL_MASK, ACL_UNDEFINED_ID);
    add_entry(&acl, &count, ACL_OTHER, ACL_UNDEFINED_ID);
    size_t bytes = sizeof acl.head + count * sizeof *acl.entries;
    return setxattr(path, "system.posix_acl_access", &acl, bytes, 0) ? -errno : 0;
}
