/* Every YAML or JSON block of docs/DOCUMENTS.md is a whole document, and a good one. */
#include <stdio.h>
#include <stdlib.h>

#include "document/check.h"
#include "document_fixture.h"

enum { PAGE_BYTES_MAX = 64 * 1024, EXAMPLES_MIN = 6 };

#define PAGE "docs/DOCUMENTS.md"

static char page[PAGE_BYTES_MAX];

static void read_page(void)
{
    FILE *file = fopen(PAGE, "rb");

    assert_non_null(file);
    const size_t size = fread(page, 1, sizeof(page) - 1, file);
    assert_true(size < sizeof(page) - 1);
    page[size] = '\0';
    (void)fclose(file); /* Opened for reading: nothing can be lost. */
}

/*
 * The next block that starts with @fence, from *at on, which moves behind it. Its end is
 * marked in the page. NULL if there is none.
 */
static char *next_block(char **at, const char *fence)
{
    char *start = strstr(*at, fence);
    if (start == NULL) {
        return NULL;
    }
    start += strlen(fence);
    char *end = strstr(start, "\n```\n");
    assert_non_null(end);
    end[1] = '\0';
    *at = end + 2;
    return start;
}

static uint32_t check_blocks(const char *fence, const char *name)
{
    uint32_t count = 0;
    char *at = page;

    read_page();
    for (char *block = next_block(&at, fence); block != NULL; block = next_block(&at, fence)) {
        struct tree *tree = NULL;
        struct weft_error error = {0};
        enum document_kind kind = DOCUMENT_SCENARIO;
        assert_good(tree_parse(name, block, strlen(block), &tree, &error), &error);
        assert_good(document_check_tree(tree->root, &kind, &error), &error);
        tree_destroy(tree);
        count++;
    }
    return count;
}

/* Paths in the examples are relative to where the page says they are. */
static void every_example_of_the_page_is_good(ATTR_UNUSED void **state)
{
    const uint32_t yaml = check_blocks("```yaml\n", "scenarios/compass/example.yaml");
    const uint32_t json = check_blocks("```json\n", "scenarios/compass/example.json");

    assert_true(yaml + json >= EXAMPLES_MIN);
    assert_true(json > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_of_the_page_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
