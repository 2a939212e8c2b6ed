/* SPDX-License-Identifier: Apache-2.0 */
/* A process at rest, after its writes: what the kernel shows of it. `WHAT HOW`: descriptors, threads, locks,
 * environment, signals, limits, children, memory or streams; of the process itself, of its fork, or of what it becomes
 * by exec. */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <wchar.h>

#include "hazard.h"

static int in_order(const void *a, const void *b) {
    return atoi(*(char *const *)a) - atoi(*(char *const *)b);
}

/* The entries of a folder of /proc, which are numbers. */
static int numbers_of(const char *folder, char *names[], int room) {
    DIR *list = opendir(folder);
    int count = 0, own = list ? dirfd(list) : -1;

    for (struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.' && count < room && (!strstr(folder, "/fd") || atoi(entry->d_name) != own))
            names[count++] = strdup(entry->d_name);
    if (list)
        closedir(list);
    qsort(names, (size_t)count, sizeof *names, in_order);
    return count;
}

static void descriptors(void) {
    char *names[256];
    int count = numbers_of("/proc/self/fd", names, 256);

    for (int i = 0; i < count; i++) {
        char path[64], target[PATH_MAX] = "";
        struct stat status;
        int fd = atoi(names[i]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        (void)length;
        fstat(fd, &status);
        say("%d %s type %o flags %x cloexec %d\n", fd, strrchr(target, '/') ? strrchr(target, '/') + 1 : target,
            status.st_mode & S_IFMT, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
    }
}

static void threads(void) {
    char *names[256];

    say("%d threads\n", numbers_of("/proc/self/task", names, 256));
}

static void lines_with(const char *path, const char *word) {
    char line[4096];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        if (strstr(line, word))
            say("%s", line);
    if (file)
        fclose(file);
}

/* Locks by process, and by file: those of an open file description have no process. */
static void locks(void) {
    char word[32];

    snprintf(word, sizeof word, " %d ", (int)getpid());
    FILE *file = fopen("/proc/locks", "r");
    char line[512];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, word) != NULL;
    say("%d locks\n", count);
    char *names[256];
    int descriptor_count = numbers_of("/proc/self/fdinfo", names, 256);
    for (int i = 0; i < descriptor_count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fdinfo/%s", names[i]);
        lines_with(path, "lock:");
    }
}

/* As it was given: LD_PRELOAD and the user's own variable, and nothing that was added. */
static void environment(void) {
    extern char **environ;
    static const char *const given[] = {"LD_PRELOAD=", "TRIBUTARY=", "TRIBUTARY_SESSION="};

    for (char **variable = environ; *variable; variable++) {
        bool is_given = false;
        for (size_t i = 0; i < sizeof given / sizeof *given; i++)
            is_given |= strncmp(*variable, given[i], strlen(given[i])) == 0;
        if (!is_given)
            say("%.*s\n", (int)strcspn(*variable, "="), *variable);
    }
}

/* libc's own two numbers are left out: its posix_spawn ignores them in every child. */
static void signals(void) {
    static const char *const words[] = {
        "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:", "Seccomp:", "NoNewPrivs:"};
    char line[4096];
    FILE *file = fopen("/proc/self/status", "r");

    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(line, words[i], strlen(words[i])) == 0)
                say("%s %llx\n", words[i], strtoull(line + strlen(words[i]), NULL, 16) & ~0x180000000ull);
    if (file)
        fclose(file);
}

static void limits(void) {
    lines_with("/proc/self/limits", "Max");
    say("nice %d\n", getpriority(PRIO_PROCESS, 0));
}

/* Nothing to wait for: a helper must not be this program's child. */
static void children(void) {
    int status;
    pid_t child = waitpid(-1, &status, WNOHANG | __WALL);

    say_result("waitpid", child);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    lines_with(path, "");
    say("\n");
}

/* Where it is, and whether its memory can grow: nothing of ours is locked or executable and writable at once. */
static void memory(void) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int both = 0;

    while (maps && fgets(line, sizeof line, maps))
        both += strstr(line, " rwx") != NULL;
    say("%d mappings both writable and executable\n", both);
    lines_with("/proc/self/status", "VmLck:");
    char *here = getcwd(NULL, 0);
    say("in %s\n", here ? strrchr(here, '/') + 1 : "?");
}

/* A standard stream is neither of bytes nor of wide characters before its first use, which is the program's. */
static void streams(void) {
    say("%d %d %d\n", fwide(stdin, 0), fwide(stdout, 0), fwide(stderr, 0));
    say("%d\n", fwprintf(stderr, L"wide words\n"));
}

static const struct {
    const char *name;
    void (*show)(void);
} shows[] = {{"descriptors", descriptors}, {"threads", threads}, {"locks", locks},
             {"environment", environment}, {"signals", signals}, {"limits", limits},
             {"children", children},       {"memory", memory},   {"streams", streams}};

static int show(const char *name) {
    for (size_t i = 0; i < sizeof shows / sizeof *shows; i++)
        if (strcmp(shows[i].name, name) == 0) {
            shows[i].show();
            return 0;
        }
    return 100;
}

/* Files of all kinds that are written in one way or another, some still open, and a sound sleep. */
static void write_files(void) {
    int kept = make("kept");

    for (int i = 0; i < 100; i++) {
        write_one("again");
        if (pwrite(kept, "0123456789", 10, i * 10) != 10)
            exit(2);
    }
    fsync(kept);
    truncate("again", 3);
    unlink("again");
    pause_ms(150);
}

int main(int count, char **values) {
    if (count < 3)
        return 100;
    if (strcmp(values[2], "again") != 0)
        write_files();
    if (strcmp(values[2], "fork") == 0 || strcmp(values[2], "fork_writes") == 0) {
        pid_t child = fork();
        if (child == 0) {
            if (strcmp(values[2], "fork_writes") == 0)
                write_files();
            _exit(show(values[1]));
        }
        say_ends(&child, 1);
        return 0;
    }
    if (strcmp(values[2], "exec") == 0)
        return execl(values[0], values[0], values[1], "again", (char *)NULL);
    return show(values[1]);
}
