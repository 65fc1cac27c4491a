/* The disk of a recorder as a test wants it: the file that TOUCHLINE_TEST_DISK names has one word.
 *
 *   stop      a sync does not return before the word is another
 *   slow      a sync takes 100 ms
 *   fail      the next sync fails once, and the word is gone
 *   readonly  each write is refused, as after a remount
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int has(const char *word) {
    const char *path = getenv("TOUCHLINE_TEST_DISK");
    char text[16] = {0};
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0)
        return 0;
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    return bytes > 0 && strcmp(text, word) == 0;
}

int fdatasync(int file) {
    while (has("stop"))
        usleep(1000);
    if (has("slow"))
        usleep(100000);
    if (has("fail")) {
        truncate(getenv("TOUCHLINE_TEST_DISK"), 0);
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, file);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    if (has("readonly")) {
        errno = EROFS;
        return -1;
    }
    return syscall(SYS_pwrite64, file, bytes, count, at);
}
