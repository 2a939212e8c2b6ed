/* SPDX-License-Identifier: Apache-2.0 */
/* Who may join a daemon: its owner and root always, others by name. Thread safety: constant after parsing. */
#ifndef TRIB_RECORDER_ACCESS_H
#define TRIB_RECORDER_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_ACCESS_MAX 32u

struct trib_access {
    uid_t users[TRIB_ACCESS_MAX];
    gid_t groups[TRIB_ACCESS_MAX]; /* the primary one of a process, and what getgrnam lists as members */
    unsigned user_count, group_count;
    bool everyone;
};

/* "mysql+@postgres+1001": users, @groups, numbers; "*" is everyone; "" nobody else. 0; -EINVAL (unknown name), -ENOSPC.
 */
int trib_access_parse(struct trib_access *out, const char *text, struct trib_error *error);

bool trib_access_allows(const struct trib_access *access, uid_t user, gid_t group);

/* Whether anybody but the owner may: the socket then takes connections from all, and each is asked who it is. */
bool trib_access_has_others(const struct trib_access *access);

/* Lets those on the list write to a file, and no other user (a POSIX ACL). 0; -ENOTSUP and others: this file system has
 * none. -EINVAL: everyone is on the list. */
int trib_access_admit(const struct trib_access *access, const char *path);

TRIB_C_END
#endif
