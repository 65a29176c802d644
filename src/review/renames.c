#include "review/changes.h"

#include "base/alloc.h"

#include <git2/sys/hashsig.h>
#include <string.h>

#define SIMILAR_FILES_MAX 200 /* on each side: more are paired by equal content alone */
#define SIMILAR_BYTES_MAX (1u << 20)
#define SIMILAR_PERCENT   50

/* Makes the added one a rename of the deleted one, which is taken out later (status 0). */
static void pair(struct change *gone, struct change *here)
{
    here->status = 'R';
    here->old_path = steal(&gone->path);
    here->old_mode = gone->old_mode;
    here->old_id = gone->old_id;
    gone->status = '\0';
}

static int compare_old_ids(const void *a, const void *b)
{
    const struct change *left = *(struct change *const *)a;
    const struct change *right = *(struct change *const *)b;
    return git_oid_cmp(&left->old_id, &right->old_id);
}

/* Equal content, whatever the number of files. */
static void pair_equal(struct change **gone, size_t gone_count, struct changes *changes)
{
    qsort(gone, gone_count, sizeof(struct change *), compare_old_ids);
    for (size_t i = 0; i < changes->count; i++) {
        struct change *here = &changes->items[i];
        if (here->status != 'A' || !mode_is_file(here->new_mode))
            continue;
        struct change wanted = {.old_id = here->new_id};
        struct change *key = &wanted;
        struct change **hit = bsearch(&key, gone, gone_count, sizeof(struct change *), compare_old_ids);
        while (hit && hit > gone && git_oid_equal(&hit[-1]->old_id, &here->new_id))
            hit--;
        for (; hit && hit < gone + gone_count && git_oid_equal(&(*hit)->old_id, &here->new_id); hit++)
            if ((*hit)->status == 'D') {
                pair(*hit, here);
                break;
            }
    }
}

/* The signature of a file's lines; NULL for one that is too large, too small or not there. */
static git_hashsig *signature(struct objects *objects, const git_oid *id)
{
    auto(git_blob) git_odb_object *blob = NULL;
    git_hashsig *sig = NULL;

    if (objects_blob(objects, id, SIMILAR_BYTES_MAX, &blob, NULL) < 0 ||
        git_hashsig_create(&sig, git_odb_object_data(blob), git_odb_object_size(blob), GIT_HASHSIG_NORMAL) <
            0)
        return NULL;
    return sig;
}

/* Similar content, for few files. */
static void pair_similar(struct objects *objects, struct change **gone, size_t gone_count,
                         struct change **here, size_t here_count)
{
    git_hashsig *sigs[SIMILAR_FILES_MAX] = {0};

    for (size_t i = 0; i < gone_count; i++)
        sigs[i] = signature(objects, &gone[i]->old_id);
    for (size_t j = 0; j < here_count; j++) {
        git_hashsig *sig = signature(objects, &here[j]->new_id);
        int best = SIMILAR_PERCENT - 1;
        size_t which = gone_count;
        for (size_t i = 0; sig && i < gone_count; i++) {
            int percent = sigs[i] && gone[i]->status == 'D' ? git_hashsig_compare(sigs[i], sig) : -1;
            if (percent > best) {
                best = percent;
                which = i;
            }
        }
        git_hashsig_free(sig);
        if (which < gone_count)
            pair(gone[which], here[j]);
    }
    for (size_t i = 0; i < gone_count; i++)
        git_hashsig_free(sigs[i]);
}

/* Files of one status, as pointers into the list. */
static size_t gather(struct changes *changes, char status, struct change **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < changes->count; i++) {
        struct change *change = &changes->items[i];
        if (change->status == status && mode_is_file(status == 'A' ? change->new_mode : change->old_mode))
            ret[n++] = change;
    }
    return n;
}

void changes_pair_renames(struct objects *objects, struct changes *changes)
{
    struct change **gone = xnewn(struct change *, changes->count + 1);
    struct change **here = xnewn(struct change *, changes->count + 1);
    size_t gone_count = gather(changes, 'D', gone);
    size_t kept = 0;

    if (gone_count > 0)
        pair_equal(gone, gone_count, changes);
    gone_count = gather(changes, 'D', gone);
    size_t here_count = gather(changes, 'A', here);
    if (gone_count > 0 && gone_count <= SIMILAR_FILES_MAX && here_count <= SIMILAR_FILES_MAX)
        pair_similar(objects, gone, gone_count, here, here_count);
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].status)
            changes->items[kept++] = changes->items[i];
    changes->count = kept;
    free(gone);
    free(here);
}
