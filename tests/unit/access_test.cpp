// SPDX-License-Identifier: Apache-2.0
// Who is on the list of option allow=: users and groups by name and by number, and a group's members, whatever their
// own primary group is. The databases of users and groups are the test's.
#include "support/catch.hpp"

#include <cerrno>
#include <cstring>
#include <grp.h>
#include <pwd.h>
#include <string>
#include <unistd.h>

#include "recorder/access.h"

namespace {

const uid_t kAnn = geteuid() + 1001, kBob = geteuid() + 1002, kEve = geteuid() + 1003;
constexpr gid_t kStorage = 7001, kMany = 7002, kElsewhere = 7003;

char *text(const char *fixed) {
    return const_cast<char *>(fixed);
}

char *storage_members[] = {text("ann"), text("ghost"), text("bob"), nullptr}; // ghost is no user
char *many_members[34];

const struct group *group_of(const std::string &name, gid_t number) {
    static struct group storage, many;
    storage.gr_name = text("storage");
    storage.gr_gid = kStorage;
    storage.gr_mem = storage_members;
    many = storage;
    many.gr_name = text("many");
    many.gr_gid = kMany;
    many.gr_mem = many_members;
    return name == "storage" || number == kStorage ? &storage : name == "many" || number == kMany ? &many : nullptr;
}

trib_access parsed(const std::string &list) {
    trib_access access{};
    trib_error error{};
    INFO(list << ": " << error.text);
    REQUIRE(trib_access_parse(&access, list.c_str(), &error) == 0);
    return access;
}

bool allows(const trib_access &access, uid_t user, gid_t group = kElsewhere) {
    return trib_access_allows(&access, user, group);
}

} // namespace

// In the place of libc's, which read this machine's files.
extern "C" struct group *getgrnam(const char *name) {
    return const_cast<struct group *>(group_of(name, 0));
}
extern "C" struct group *getgrgid(gid_t number) {
    return const_cast<struct group *>(group_of("", number));
}
extern "C" struct passwd *getpwnam(const char *name) {
    static struct passwd user;
    user.pw_name = text(name);
    user.pw_uid = strcmp(name, "ann") == 0 ? kAnn : kBob;
    return strcmp(name, "ann") == 0 || strcmp(name, "bob") == 0 ? &user : nullptr;
}

TEST_CASE("a group lets in its members, whatever their own group is, and whoever has it as his own") {
    for (const char *list : {"@storage", "@7001"}) {
        INFO(list);
        const trib_access access = parsed(list);
        CHECK(allows(access, kAnn));
        CHECK(allows(access, kBob));
        CHECK(allows(access, kEve, kStorage));
        CHECK_FALSE(allows(access, kEve));
        CHECK(access.user_count == 2);
    }
}

TEST_CASE("users are let in by name and by number, and nobody else") {
    const trib_access access = parsed("ann+" + std::to_string(kEve) + "+@12345");
    CHECK(allows(access, kAnn));
    CHECK(allows(access, kEve));
    CHECK(allows(access, kBob, 12345)); // a group without a name
    CHECK_FALSE(allows(access, kBob));
    CHECK_FALSE(allows(access, kBob, kStorage));
    for (const char *list : {"", "+"}) {
        CHECK_FALSE(allows(parsed(list), kAnn));
        CHECK(allows(parsed(list), 0));
        CHECK(allows(parsed(list), geteuid()));
    }
    CHECK(allows(parsed("bob+*"), kEve));
}

TEST_CASE("a list that names nobody, or more than it holds, is refused and changes nothing") {
    static char names[34][8];
    for (int i = 0; i < 33; i++) {
        strcpy(names[i], "ann");
        many_members[i] = names[i];
    }
    const std::pair<std::string, int> lists[] = {
        {"carl", -EINVAL}, {"@nobody-has-it", -EINVAL}, {"@many", -ENOSPC}, {"ann+-1", -EINVAL}, {"ann+1x", -EINVAL}};
    for (const auto &[list, code] : lists) {
        INFO(list);
        trib_access access{};
        trib_error error{};
        access.user_count = 77;
        CHECK(trib_access_parse(&access, list.c_str(), &error) == code);
        CHECK(std::string(error.text).rfind("allow: ", 0) == 0);
        CHECK(access.user_count == 77);
    }
    many_members[32] = nullptr; // as many as there is room for
    CHECK(parsed("@many").user_count == TRIB_ACCESS_MAX);
}
