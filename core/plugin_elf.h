/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_CORE_PLUGIN_ELF_H
#define ALINEO_CORE_PLUGIN_ELF_H

/** Looks into a shared object without running anything of it. The file may be a stranger's: every
 * number in it is held against the size of the file before it is used. */

#include "core/util/buf.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define AL_ELF_SEGMENTS_MAX 64

typedef struct al_elf {
    int fd; /* borrowed */
    uint64_t size;
    size_t count;
    ElfW(Phdr) segments[AL_ELF_SEGMENTS_MAX];
} al_elf;

/* The functions give 0; EBADMSG when the file is not what it must be, and append a sentence without
 * subject and full stop to `problem` ("is not an ELF file"); or what reading gave. */

/** Reads the headers: a whole shared object for this kind of processor. */
int al_elf_read(int fd, al_elf *out, al_buf *problem);

/** Reads exactly `size` bytes at `offset`, which must lie in the file. */
int al_elf_bytes(const al_elf *elf, uint64_t offset, void *out, size_t size, al_buf *problem);

/** Where in the file the bytes of an address are; false where `size` bytes from there are none. */
bool al_elf_offset(const al_elf *elf, uint64_t address, uint64_t size, uint64_t *offset);

/** Looks `name` up among the exported symbols as the loader would; *address is its value. ENOENT:
 * it is not there. */
int al_elf_symbol(const al_elf *elf, const char *name, uint64_t *address, al_buf *problem);

/** The address that the pointer at `address` will hold, counted as all addresses in the file are;
 * ENOENT: that cannot be told before the file is loaded. */
int al_elf_pointer(const al_elf *elf, uint64_t address, uint64_t *target, al_buf *problem);

/** Tables that the dynamic section names, by address; 0 = none. */
typedef struct al_elf_tables {
    uint64_t symbols;
    uint64_t names;
    uint64_t gnu_hash;
    uint64_t hash;
    uint64_t relocations; /* with addends */
    uint64_t relocations_size;
} al_elf_tables;
int al_elf_dynamic(const al_elf *elf, al_elf_tables *out, al_buf *problem);

/** Reads `size` bytes at an address. */
int al_elf_at(const al_elf *elf, uint64_t address, void *out, size_t size, al_buf *problem);

#endif
