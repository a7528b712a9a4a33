/* SPDX-License-Identifier: BSD-3-Clause */
/* Reset of a Cortex-M board under QEMU, and what newlib asks of a system, by semihosting (Arm's document of that name, 2.0). */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "board.h"

extern char board_data_image[], board_data_begin[], board_data_end[];
extern char board_bss_begin[], board_bss_end[];
extern char board_heap_begin[], board_heap_end[];
extern char board_stack_end[], board_stack_top[];

int main(void);

/* ---- Semihosting ------------------------------------------------------------------------------------------------------------- */

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_EXIT_EXTENDED = 0x20 };
enum { APPLICATION_EXIT = 0x20026 };

static uintptr_t ask(uintptr_t operation, const void *arguments)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_write(const char *text, size_t length)
{
    static uintptr_t handle;
    if (handle == 0) {
        const uintptr_t open[3] = {(uintptr_t) ":tt", 4, 3}; /* for writing: the host's standard output */
        handle = ask(SYS_OPEN, open);
    }
    const uintptr_t arguments[3] = {handle, (uintptr_t)text, length};
    (void)ask(SYS_WRITE, arguments);
}

_Noreturn void board_exit(int status)
{
    const uintptr_t arguments[2] = {APPLICATION_EXIT, (uintptr_t)status};
    for (;;) {
        (void)ask(SYS_EXIT_EXTENDED, arguments);
    }
}

/* ---- Stack -------------------------------------------------------------------------------------------------------------------- */

#define PAINT 0xA5A5A5A5U

__attribute__((noinline)) void board_stack_paint(void)
{
    uint32_t *const here = __builtin_frame_address(0);
    for (volatile uint32_t *at = (volatile uint32_t *)(void *)board_stack_end; at < here - 32; ++at) {
        *at = PAINT;
    }
}

__attribute__((noinline)) size_t board_stack_used(void)
{
    const char *const here = __builtin_frame_address(0);
    const uint32_t *at = (const uint32_t *)(const void *)board_stack_end;
    while ((const char *)at < here && *at == PAINT) {
        ++at;
    }
    return (size_t)(here - (const char *)at);
}

/* ---- Start -------------------------------------------------------------------------------------------------------------------- */

static _Noreturn void fault(void)
{
    static const char words[] = "board: a fault\n";
    board_write(words, sizeof words - 1);
    board_exit(70);
}

__attribute__((used)) _Noreturn void board_reset(void)
{
    memcpy(board_data_begin, board_data_image, (size_t)(board_data_end - board_data_begin));
    memset(board_bss_begin, 0, (size_t)(board_bss_end - board_bss_begin));
#if defined(__ARM_FP)
    volatile uint32_t *const coprocessors = (volatile uint32_t *)0xE000ED88U; /* CPACR: full access to the FPU */
    *coprocessors |= 0xFU << 20;
    __asm__ volatile("dsb\n isb");
#endif
    volatile uint32_t *const control = (volatile uint32_t *)0xE000ED14U; /* CCR: divisions by zero trap */
    *control |= 1U << 4;
    board_exit(main());
}

typedef struct vector_table {
    const void *stack;
    void (*handlers[15])(void);
} vector_table;
__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    board_stack_top, {board_reset, fault, fault, fault, fault, fault}};

/* ---- What newlib asks for ------------------------------------------------------------------------------------------------------ */

void *_sbrk(ptrdiff_t more);
int _write(int file, const char *text, int length);
int _read(int file, char *text, int length);
int _close(int file);
int _fstat(int file, struct stat *status);
int _isatty(int file);
long _lseek(int file, long offset, int from);
int _gettimeofday(void *time, void *zone);
int _getpid(void);
int _kill(int process, int signal);
_Noreturn void _exit(int status);

/* Memory of the tests: models and expectations. */
void *_sbrk(ptrdiff_t more)
{
    static char *end = board_heap_begin;
    char *const before = end;
    if (more > board_heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return before;
}

int _write(int file, const char *text, int length)
{
    (void)file;
    board_write(text, (size_t)length);
    return length;
}

int _read(int file, char *text, int length)
{
    (void)file;
    (void)text;
    (void)length;
    return 0;
}

int _close(int file)
{
    (void)file;
    return -1;
}

int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

long _lseek(int file, long offset, int from)
{
    (void)file;
    (void)offset;
    (void)from;
    return 0;
}

int _gettimeofday(void *time, void *zone)
{
    (void)time;
    (void)zone;
    errno = ENOSYS;
    return -1;
}

int _getpid(void) { return 1; }

int _kill(int process, int signal)
{
    (void)process;
    board_exit(128 + signal);
}

_Noreturn void _exit(int status) { board_exit(status); }
