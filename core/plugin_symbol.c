/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a symbol up in the tables of a shared object that is not loaded. */
#include "core/plugin_elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Entries of a chain that are looked at: many times what a plugin with one exported symbol has. */
#define CHAIN_MAX 65536u
#define NAME_MAX_SIZE 256u

/* ENOENT when symbol number `index` is not a defined one of that name. */
static int match_symbol(const al_elf *elf, const al_elf_tables *tables, uint32_t index,
                        const char *name, uint64_t *address, al_buf *problem) {
    ElfW(Sym) symbol;
    int rc = al_elf_at(elf, tables->symbols + (uint64_t)index * sizeof(symbol), &symbol,
                       sizeof(symbol), problem);
    if (rc != 0)
        return rc;
    char found[NAME_MAX_SIZE];
    size_t size = strlen(name) + 1;
    rc = al_elf_at(elf, tables->names + symbol.st_name, found, size, problem);
    /* A name that ends with the file is shorter than ours, not damaged. */
    if (rc != 0) {
        al_buf_clear(problem);
        return rc == EBADMSG ? ENOENT : rc;
    }
    if (memcmp(found, name, size) != 0 || symbol.st_shndx == SHN_UNDEF)
        return ENOENT;
    *address = symbol.st_value;
    return 0;
}

static uint32_t gnu_hash_of(const char *name) {
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = hash * 33 + *c;
    return hash;
}

static int find_by_gnu_hash(const al_elf *elf, const al_elf_tables *tables, const char *name,
                            uint64_t *address, al_buf *problem) {
    struct {
        uint32_t bucket_count;
        uint32_t first_symbol;
        uint32_t bloom_count;
        uint32_t bloom_shift;
    } head;
    int rc = al_elf_at(elf, tables->gnu_hash, &head, sizeof(head), problem);
    if (rc != 0)
        return rc;
    if (head.bucket_count == 0)
        return ENOENT;
    uint32_t hash = gnu_hash_of(name);
    uint64_t buckets =
        tables->gnu_hash + sizeof(head) + (uint64_t)head.bloom_count * sizeof(ElfW(Addr));
    uint64_t chains = buckets + (uint64_t)head.bucket_count * 4;
    uint32_t index = 0;
    rc = al_elf_at(elf, buckets + (uint64_t)(hash % head.bucket_count) * 4, &index, 4, problem);
    if (rc != 0)
        return rc;
    if (index < head.first_symbol)
        return ENOENT;
    for (uint32_t steps = 0; steps < CHAIN_MAX; steps++, index++) {
        uint32_t value = 0;
        rc = al_elf_at(elf, chains + (uint64_t)(index - head.first_symbol) * 4, &value, 4, problem);
        if (rc != 0)
            return rc;
        if ((value | 1u) == (hash | 1u)) {
            rc = match_symbol(elf, tables, index, name, address, problem);
            if (rc != ENOENT)
                return rc;
        }
        if ((value & 1u) != 0)
            return ENOENT;
    }
    return ENOENT;
}

static uint32_t sysv_hash_of(const char *name) {
    uint32_t hash = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) {
        hash = (hash << 4) + *c;
        uint32_t high = hash & 0xf0000000u;
        hash = (hash ^ high >> 24) & ~high;
    }
    return hash;
}

static int find_by_hash(const al_elf *elf, const al_elf_tables *tables, const char *name,
                        uint64_t *address, al_buf *problem) {
    uint32_t counts[2]; /* of buckets, of chains */
    int rc = al_elf_at(elf, tables->hash, counts, sizeof(counts), problem);
    if (rc != 0)
        return rc;
    if (counts[0] == 0)
        return ENOENT;
    uint64_t buckets = tables->hash + sizeof(counts);
    uint64_t chains = buckets + (uint64_t)counts[0] * 4;
    uint32_t index = 0;
    rc = al_elf_at(elf, buckets + (uint64_t)(sysv_hash_of(name) % counts[0]) * 4, &index, 4,
                   problem);
    for (uint32_t steps = 0; rc == 0 && index != STN_UNDEF && steps < CHAIN_MAX; steps++) {
        rc = match_symbol(elf, tables, index, name, address, problem);
        if (rc != ENOENT)
            return rc;
        rc = al_elf_at(elf, chains + (uint64_t)index * 4, &index, 4, problem);
    }
    return rc != 0 ? rc : ENOENT;
}

int al_elf_symbol(const al_elf *elf, const char *name, uint64_t *address, al_buf *problem) {
    al_elf_tables tables = {0};
    if (strlen(name) >= NAME_MAX_SIZE)
        return ENOENT;
    int rc = al_elf_dynamic(elf, &tables, problem);
    if (rc != 0)
        return rc;
    if (tables.symbols == 0 || tables.names == 0)
        return ENOENT;
    if (tables.gnu_hash != 0)
        return find_by_gnu_hash(elf, &tables, name, address, problem);
    return tables.hash != 0 ? find_by_hash(elf, &tables, name, address, problem) : ENOENT;
}
