/* SPDX-License-Identifier: Apache-2.0 */
/* Function names from an ELF64 file on disk, stripped or not. Thread safety: one owner per open
 * file. The file is not trusted: every offset is checked against its size. */
#ifndef TRIB_SIGNATURE_ELF_SYMBOLS_H
#define TRIB_SIGNATURE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_elf {
    const uint8_t *bytes;
    size_t size_bytes;
};

/* 0; -errno of the file system; -ENOEXEC if it is not an ELF64 file of this machine's byte order.
 */
int trib_elf_open(struct trib_elf *out, const char *path);
void trib_elf_close(struct trib_elf *elf);

/* The GNU build-id: its length, at most `capacity`, or 0 if there is none. */
size_t trib_elf_build_id(const struct trib_elf *elf, uint8_t *out, size_t capacity);

/* Name and start of the function that holds `address` (as in the file, base 0): .symtab if there is
 * one, else .dynsym. The name lives as long as the file is open. 0 or -ENOENT. */
int trib_elf_function(const struct trib_elf *elf, uint64_t address, const char **name, uint64_t *start);

/* Where the program begins, as in the file; 0 = nowhere (a library). */
uint64_t trib_elf_entry(const struct trib_elf *elf);

TRIB_C_END
#endif
