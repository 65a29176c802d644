/* Apart from file.c, so that a program that hashes nothing (hutch-guest, static) does not bring libcrypto
 * along. */
#include "base/file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>

AUTO_DEFINE(digest, EVP_MD_CTX *, EVP_MD_CTX_free);

int file_sha256(const char *path, char ret_hex[65], struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    auto(digest) EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (!digest || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
        return error_set(err, ERROR_MISSING, "libcrypto has no SHA-256");
    const size_t step = 1 << 20;
    autofree unsigned char *block = xrealloc(NULL, step, 1);
    for (;;) {
        ssize_t n = read(fd, block, step);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read \"%s\"", path);
        if (!n)
            break;
        require(EVP_DigestUpdate(digest, block, n) == 1);
    }
    unsigned char sum[32];
    require(EVP_DigestFinal_ex(digest, sum, NULL) == 1);
    for (size_t i = 0; i < sizeof(sum); i++) {
        ret_hex[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        ret_hex[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
    ret_hex[64] = '\0';
    return 0;
}
