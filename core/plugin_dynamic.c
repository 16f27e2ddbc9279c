/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic section of a shared object says, and what its pointers will hold. */
#include "core/plugin_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "core/util/compiler.h"

#define DYNAMIC_MAX 512u
/* A plugin with all its libraries linked in has some ten thousand. */
#define RELOCATIONS_MAX 1000000u

int al_elf_at(const al_elf *elf, uint64_t address, void *out, size_t size, al_buf *problem) {
    uint64_t offset = 0;
    if (!al_elf_offset(elf, address, size, &offset)) {
        al_buf_append_str(problem, "is damaged: a table that it names lies outside it");
        return EBADMSG;
    }
    return al_elf_bytes(elf, offset, out, size, problem);
}

static const ElfW(Phdr) * dynamic_segment(const al_elf *elf) {
    for (size_t i = 0; i < elf->count; i++) {
        if (elf->segments[i].p_type == PT_DYNAMIC)
            return &elf->segments[i];
    }
    return NULL;
}

static void take_entry(al_elf_tables *tables, const ElfW(Dyn) * entry) {
    switch (entry->d_tag) {
    case DT_SYMTAB:
        tables->symbols = entry->d_un.d_ptr;
        break;
    case DT_STRTAB:
        tables->names = entry->d_un.d_ptr;
        break;
    case DT_GNU_HASH:
        tables->gnu_hash = entry->d_un.d_ptr;
        break;
    case DT_HASH:
        tables->hash = entry->d_un.d_ptr;
        break;
    case DT_RELA:
        tables->relocations = entry->d_un.d_ptr;
        break;
    case DT_RELASZ:
        tables->relocations_size = entry->d_un.d_val;
        break;
    default:
        break;
    }
}

int al_elf_dynamic(const al_elf *elf, al_elf_tables *out, al_buf *problem) {
    al_elf_tables tables = {0};
    const ElfW(Phdr) *segment = dynamic_segment(elf);
    ElfW(Dyn) entries[DYNAMIC_MAX];
    size_t count = segment != NULL ? (size_t)segment->p_filesz / sizeof(entries[0]) : 0;
    if (count > DYNAMIC_MAX)
        count = DYNAMIC_MAX;
    if (count > 0) {
        int rc = al_elf_bytes(elf, segment->p_offset, entries, count * sizeof(entries[0]), problem);
        if (rc != 0)
            return rc;
    }
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
        take_entry(&tables, &entries[i]);
    *out = tables;
    return 0;
}

/* The addend of the relocation for a place; ENOENT when there is none. */
static int find_addend(const al_elf *elf, uint64_t place, uint64_t *addend, al_buf *problem) {
    al_elf_tables tables;
    int rc = al_elf_dynamic(elf, &tables, problem);
    if (rc != 0)
        return rc;
    ElfW(Rela) block[128];
    uint64_t left = tables.relocations != 0 ? tables.relocations_size / sizeof(block[0]) : 0;
    if (left > RELOCATIONS_MAX)
        left = RELOCATIONS_MAX;
    for (uint64_t at = tables.relocations; left > 0;) {
        size_t count = left < AL_COUNT(block) ? (size_t)left : AL_COUNT(block);
        rc = al_elf_at(elf, at, block, count * sizeof(block[0]), problem);
        if (rc != 0)
            return rc;
        for (size_t i = 0; i < count; i++) {
            if (block[i].r_offset == place) {
                *addend = (uint64_t)block[i].r_addend;
                return 0;
            }
        }
        at += count * sizeof(block[0]);
        left -= count;
    }
    return ENOENT;
}

int al_elf_pointer(const al_elf *elf, uint64_t address, uint64_t *target, al_buf *problem) {
    /* Where relocations have no addend of their own, or are packed, it stands in the place itself.
     * */
    ElfW(Addr) in_place = 0;
    int rc = al_elf_at(elf, address, &in_place, sizeof(in_place), problem);
    if (rc != 0)
        return rc;
    if (in_place != 0) {
        *target = in_place;
        return 0;
    }
    rc = find_addend(elf, address, target, problem);
    return rc == 0 && *target == 0 ? ENOENT : rc;
}
