/*
 * `mpirun --mca coll gdr`: Open MPI wants somebody for every collective, and a list that names gdr
 * alone has nobody for most. The list is extended while the framework is still registering its
 * components: they are then opened and selected as if they had been named.
 */
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <string.h>

/* Whether the comma-separated list has the word. */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *p = list; *p != '\0'; p += *p == ',') {
        size_t n = strcspn(p, ",");

        if (n == length && strncmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* The list with what it lacks, on the heap; NULL if nothing is missing or no memory is left. */
static char *extended(const char *list)
{
    static const char *const wanted[] = {"self", "basic", "libnbc", "inter", "tuned", NULL};
    bool alone = strcmp(list, "gdr") == 0;
    bool changed = false;
    char *out = malloc(strlen(list) + 64);

    if (out == NULL)
        return NULL;
    strcpy(out, list);
    for (int i = 0; wanted[i] != NULL; i++) {
        /* Whoever names other components has chosen them: tuned would take their calls. */
        if (list_has(list, wanted[i]) || (!alone && strcmp(wanted[i], "tuned") == 0))
            continue;
        strcat(out, ",");
        strcat(out, wanted[i]);
        changed = true;
    }
    if (!changed) {
        free(out);
        return NULL;
    }
    return out;
}

static bool named_before(const mca_base_component_list_item_t *item)
{
    opal_list_t *list = &ompi_coll_base_framework.framework_components;
    mca_base_component_list_item_t *other;

    OPAL_LIST_FOREACH(other, list, mca_base_component_list_item_t)
    {
        if (other == item)
            return false;
        if (strcmp(other->cli_component->mca_component_name,
                   item->cli_component->mca_component_name) == 0)
            return true;
    }
    return false;
}

/*
 * Drops components that were linked statically and hence found twice, and registers the new ones:
 * the framework's own loop stands at its last component and no longer visits them.
 */
static void adopt(opal_list_item_t *last)
{
    opal_list_t *list = &ompi_coll_base_framework.framework_components;
    opal_list_item_t *item = opal_list_get_next(last);

    while (item != opal_list_get_end(list)) {
        mca_base_component_list_item_t *found = (mca_base_component_list_item_t *)item;
        const mca_base_component_t *component = found->cli_component;
        opal_list_item_t *next = opal_list_get_next(item);

        if (named_before(found) || (component->mca_register_component_params != NULL &&
                                    component->mca_register_component_params() != OPAL_SUCCESS)) {
            opal_list_remove_item(list, item);
            OBJ_RELEASE(item);
        }
        item = next;
    }
}

int gdr_providers_ensure(void)
{
    mca_base_framework_t *framework = &ompi_coll_base_framework;
    const char *list = framework->framework_selection;
    opal_list_item_t *last = opal_list_get_last(&framework->framework_components);
    char *more;

    if (list == NULL || list[0] == '^' || !list_has(list, "gdr"))
        return OMPI_SUCCESS;
    more = extended(list);
    if (more == NULL)
        return OMPI_SUCCESS;
    free(framework->framework_selection);
    framework->framework_selection = more;
    if (mca_base_component_find(NULL, framework, false, true) != OPAL_SUCCESS)
        gdr_debug(&gdr_mca.log, "not all of %s were found", more);
    adopt(last);
    gdr_debug(&gdr_mca.log, "coll list extended to %s", more);
    return OMPI_SUCCESS;
}
