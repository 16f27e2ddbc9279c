/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin_elf.h"

#include "core/util/compiler.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__i386__)
#define OWN_MACHINE EM_386
#elif defined(__arm__)
#define OWN_MACHINE EM_ARM
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#else
#error "name this processor's ELF machine here"
#endif

#if UINTPTR_MAX > UINT32_MAX
#define OWN_CLASS ELFCLASS64
#else
#define OWN_CLASS ELFCLASS32
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

static const struct {
    unsigned machine;
    const char *name;
} machine_names[] = {
    {EM_386, "x86 (32 bit)"},  {EM_X86_64, "x86-64"}, {EM_ARM, "ARM (32 bit)"},
    {EM_AARCH64, "AArch64"},   {EM_RISCV, "RISC-V"},  {EM_PPC64, "PowerPC (64 bit)"},
    {EM_S390, "IBM Z (s390)"},
};

static int bad(al_buf *problem, const char *what) {
    al_buf_append_str(problem, what);
    return EBADMSG;
}

static bool in_file(const al_elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset;
}

int al_elf_bytes(const al_elf *elf, uint64_t offset, void *out, size_t size, al_buf *problem) {
    if (!in_file(elf, offset, size))
        return bad(problem, "is cut off or damaged");
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(elf->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return bad(problem, "became shorter while it was read");
        done += (size_t)got;
    }
    return 0;
}

static void tell_machine(unsigned machine, al_buf *problem) {
    for (size_t i = 0; i < AL_COUNT(machine_names); i++) {
        if (machine_names[i].machine == machine) {
            al_buf_append_str(problem, machine_names[i].name);
            return;
        }
    }
    al_buf_printf(problem, "a processor of ELF number %u", machine);
}

/* `header` has the size of our class: of another one only e_ident may be looked at. */
static int check_header(const ElfW(Ehdr) * header, al_buf *problem) {
    if (header->e_ident[EI_CLASS] != OWN_CLASS) {
        al_buf_printf(problem, "is built for a %s processor, this program runs as %s",
                      header->e_ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "different",
                      OWN_CLASS == ELFCLASS64 ? "64-bit" : "32-bit");
        return EBADMSG;
    }
    if (header->e_ident[EI_DATA] != OWN_DATA)
        return bad(problem, "is built for a processor of the other byte order");
    if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
        return bad(problem, "is an ELF file of a version that there is not");
    if (header->e_machine != OWN_MACHINE) {
        al_buf_append_str(problem, "is built for ");
        tell_machine(header->e_machine, problem);
        al_buf_append_str(problem, ", this program runs on ");
        tell_machine(OWN_MACHINE, problem);
        return EBADMSG;
    }
    if (header->e_type != ET_DYN)
        return bad(problem, "is an ELF file, but not a shared object");
    if (header->e_ehsize != sizeof(*header) || header->e_phentsize != sizeof(ElfW(Phdr)))
        return bad(problem, "has headers of a size that there is not");
    return 0;
}

static int check_segments(const al_elf *elf, al_buf *problem) {
    for (size_t i = 0; i < elf->count; i++) {
        const ElfW(Phdr) *segment = &elf->segments[i];
        bool used = segment->p_type == PT_LOAD || segment->p_type == PT_NOTE ||
                    segment->p_type == PT_DYNAMIC;
        if (!used)
            continue;
        if (!in_file(elf, segment->p_offset, segment->p_filesz))
            return bad(problem, "is cut off: a part that it names lies behind its end");
        if (segment->p_type == PT_LOAD && segment->p_filesz > segment->p_memsz)
            return bad(problem, "is damaged: a segment is larger in the file than in memory");
    }
    return 0;
}

int al_elf_read(int fd, al_elf *out, al_buf *problem) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno;
    al_elf elf = {.fd = fd, .size = (uint64_t)status.st_size};
    if (elf.size == 0)
        return bad(problem, "is empty");
    ElfW(Ehdr) header;
    memset(&header, 0, sizeof(header));
    size_t size = elf.size < sizeof(header) ? (size_t)elf.size : sizeof(header);
    int rc = al_elf_bytes(&elf, 0, &header, size, problem);
    if (rc != 0)
        return rc;
    if (memcmp(header.e_ident, ELFMAG, size < SELFMAG ? size : SELFMAG) != 0)
        return bad(problem, "is not an ELF file");
    if (size < sizeof(header))
        return bad(problem, "is cut off within its first header");
    rc = check_header(&header, problem);
    if (rc != 0)
        return rc;
    if (header.e_phnum == 0 || header.e_phnum > AL_ELF_SEGMENTS_MAX)
        return bad(problem, "has no segments, or too many");
    /* The loader does not need them, but they stand at the end: a file without them was cut. */
    uint64_t sections_size = (uint64_t)header.e_shnum * header.e_shentsize;
    if (header.e_shoff != 0 && !in_file(&elf, header.e_shoff, sections_size))
        return bad(problem, "is cut off: its table of sections lies behind its end");
    elf.count = header.e_phnum;
    rc = al_elf_bytes(&elf, header.e_phoff, elf.segments, elf.count * sizeof(elf.segments[0]),
                      problem);
    if (rc == 0)
        rc = check_segments(&elf, problem);
    if (rc == 0)
        *out = elf;
    return rc;
}

bool al_elf_offset(const al_elf *elf, uint64_t address, uint64_t size, uint64_t *offset) {
    for (size_t i = 0; i < elf->count; i++) {
        const ElfW(Phdr) *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr)
            continue;
        uint64_t within = address - segment->p_vaddr;
        if (within <= segment->p_filesz && size <= segment->p_filesz - within) {
            *offset = segment->p_offset + within;
            return true;
        }
    }
    return false;
}
