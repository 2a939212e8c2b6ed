/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a libFuzzer target over every file of the given folders, so that the corpus is a test under any compiler. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    static uint8_t data[1u << 20];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    return 0;
}

int main(int argc, char **argv) {
    unsigned runs = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "%s: cannot open corpus folder\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (run_file(path)) {
                fprintf(stderr, "%s: cannot read\n", path);
                return 1;
            }
            runs++;
        }
        closedir(folder);
    }
    printf("%u corpus files\n", runs);
    return runs ? 0 : 1;
}
