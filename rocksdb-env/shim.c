/* SPDX-License-Identifier: Apache-2.0 */
/* libtributary-rocksdb.so: preloaded into unmodified programs, it loads the
 * plugin that was built for the RocksDB it finds there. The environment hands a
 * preload on to every child (sh, timeout, ...), so this library has no C++, no
 * RocksDB symbols, and does nothing in a process without RocksDB.
 *
 * Runs once, before main, on the only thread. Keeps no state. */
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/line.h"
#include "base/switched.h"

#define PLUGIN_PREFIX "libtributary-rocksdb-"

/* What C sees of a std::string returned by value: both libstdc++ layouts are
 * returned through a hidden pointer and start with a pointer to NUL-terminated
 * characters; the current one keeps up to 15 of them inside itself. */
struct cxx_string {
  const char *text;
  size_t length;
  char inside[16];
};

struct rocksdb_found {
  char version[16]; /* "7.8" */
  bool old_abi;     /* std::string from before C++11 */
  char path[512];   /* of the object that has it */
};

static void complain(const char *what) {
  (void)trib_line((const char *[]){what, NULL});
}

/* "7.8" from "7.8.3" or "librocksdb.so.7.8.3"; false if there is no such
 * number. */
static bool take_minor(const char *text, char *version, size_t capacity) {
  unsigned major, minor;
  if (sscanf(text, "%u.%u", &major, &minor) != 2) {
    return false;
  }
  return snprintf(version, capacity, "%u.%u", major, minor) < (int)capacity;
}

static bool ask_version(struct rocksdb_found *found) {
  struct cxx_string (*ask)(bool) = NULL;
  *(void **)&ask =
      dlsym(RTLD_DEFAULT, "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb");
  if (ask) {
    const struct cxx_string answer = ask(false);
    return answer.length < sizeof answer.inside &&
           take_minor(answer.inside, found->version, sizeof found->version);
  }
  *(void **)&ask =
      dlsym(RTLD_DEFAULT, "_ZN7rocksdb23GetRocksVersionAsStringEb");
  if (!ask) {
    return false;
  }
  found->old_abi = true;
  return take_minor(ask(false).text, found->version, sizeof found->version);
}

/* The names of the plugins in a directory, for a person. */
static void list_plugins(const char *directory, char *text, size_t capacity) {
  char pattern[600];
  glob_t names;
  snprintf(pattern, sizeof pattern, "%s/" PLUGIN_PREFIX "*.so", directory);
  text[0] = '\0';
  if (glob(pattern, 0, NULL, &names) == 0) {
    for (size_t i = 0; i < names.gl_pathc; i++) {
      const char *name = strrchr(names.gl_pathv[i], '/') + 1;
      const size_t used = strlen(text);
      snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", name);
    }
    globfree(&names);
  }
  if (!text[0]) {
    snprintf(text, capacity, "none");
  }
}

/* strict=1, or strict:1, in TRIBUTARY_OPTIONS: rather stop than run without
 * placement. */
static bool is_strict(void) {
  return trib_options_is_on(secure_getenv("TRIBUTARY_OPTIONS"), "strict");
}

static bool load(const struct rocksdb_found *found) {
  Dl_info self;
  char directory[512], plugin[600], plugins[512], sentence[2400];
  if (!dladdr((void *)take_minor, &self) || !strrchr(self.dli_fname, '/')) {
    complain(
        "cannot tell where libtributary-rocksdb.so is; preload it by its full "
        "path");
    return false;
  }
  snprintf(directory, sizeof directory, "%.*s",
           (int)(strrchr(self.dli_fname, '/') - self.dli_fname),
           self.dli_fname);
  list_plugins(directory, plugins, sizeof plugins);
  if (!found->version[0]) {
    snprintf(sentence, sizeof sentence,
             "found a RocksDB of unknown version in %s; plugins in %s: %s; "
             "running without",
             found->path, directory, plugins);
    complain(sentence);
    return false;
  }
  snprintf(plugin, sizeof plugin, "%s/" PLUGIN_PREFIX "%s%s.so", directory,
           found->version, found->old_abi ? "-precxx11" : "");
  if (access(plugin, R_OK) != 0) {
    snprintf(sentence, sizeof sentence,
             "found RocksDB %s%s in %s, for which there is no plugin; plugins "
             "in %s: %s; running without",
             found->version,
             found->old_abi ? " (std::string from before C++11)" : "",
             found->path, directory, plugins);
    complain(sentence);
    return false;
  }
  if (!dlopen(plugin, RTLD_NOW | RTLD_GLOBAL)) {
    snprintf(sentence, sizeof sentence, "RocksDB %s in %s: %s; running without",
             found->version, found->path, dlerror());
    complain(sentence);
    return false;
  }
  return true;
}

__attribute__((constructor)) static void start(void) {
  struct rocksdb_found found = {0};
  Dl_info where;
  void *registry = dlsym(RTLD_DEFAULT, "_ZN7rocksdb13ObjectLibrary7DefaultEv");
  if (!registry) {
    return;
  }
  trib_line_start();
  const bool known = dladdr(registry, &where) && where.dli_fname;
  snprintf(found.path, sizeof found.path, "%s",
           known ? where.dli_fname : "this program");
  if (!ask_version(&found)) {
    /* no such function exported: the library's name may tell, as
     * librocksdb.so.7.8.3 does */
    char real[4096];
    const char *name = known && realpath(where.dli_fname, real)
                           ? strstr(real, "librocksdb.so.")
                           : NULL;
    if (name) {
      take_minor(name + strlen("librocksdb.so."), found.version,
                 sizeof found.version);
    }
  }
  if (!load(&found) && is_strict()) {
    complain("strict: stopping");
    _exit(1);
  }
}
