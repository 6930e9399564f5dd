#include "document/tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "document_fixture.h"

static void every_node_knows_its_line(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("# a comment\n"
                               "name: chat\n"
                               "tasks:\n"
                               "  a: {model: m}\n"
                               "  b:\n"
                               "    - 1\n"
                               "    - two\n");
    const struct tree_node *root = tree->root;

    assert_int_equal(root->kind, TREE_MAPPING);
    assert_int_equal(root->child_count, 2);
    assert_int_equal(root->line, 2);
    assert_null(root->key);
    assert_string_equal(root->file, "t.yaml");

    const struct tree_node *tasks = tree_find(root, "tasks");
    assert_int_equal(tasks->key_line, 3);
    assert_int_equal(tasks->line, 4);
    const struct tree_node *model = tree_find(tree_find(tasks, "a"), "model");
    assert_int_equal(model->line, 4);
    assert_string_equal(model->key, "model");
    assert_string_equal(model->text, "m");

    const struct tree_node *list = tree_find(tasks, "b");
    assert_int_equal(list->kind, TREE_LIST);
    assert_int_equal(list->child_count, 2);
    assert_string_equal(list->first->text, "1");
    assert_string_equal(list->first->next->text, "two");
    assert_int_equal(list->first->next->line, 7);
    assert_string_equal(list->first->next->key, "b"); /* That of its list. */
    assert_null(list->first->next->next);
    tree_destroy(tree);
}

static void json_and_yaml_give_the_same_tree(ATTR_UNUSED void **state)
{
    static const char text[] = "{\"a\":1,\"b\":[true,null,\"x\\ty\"],\n\t\"c\":{\"d\":-2.5e3}}";
    struct tree *tree = NULL;
    struct weft_error error = {0};

    assert_good(tree_parse("t.json", text, strlen(text), &tree, &error), &error);
    assert_string_equal(tree_find(tree->root, "a")->text, "1");
    assert_false(tree_find(tree->root, "a")->quoted);
    const struct tree_node *list = tree_find(tree->root, "b");
    assert_string_equal(list->first->text, "true");
    assert_string_equal(list->first->next->next->text, "x\ty");
    assert_true(list->first->next->next->quoted);
    assert_int_equal(tree_find(tree->root, "c")->line, 2);
    tree_destroy(tree);
}

static void keys_are_found_only_in_mappings(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("a: [1]\nb: text\n");

    assert_null(tree_find(tree->root, "c"));
    assert_null(tree_find(tree->root, "A"));
    assert_null(tree_find(tree_find(tree->root, "a"), "a"));
    assert_null(tree_find(tree_find(tree->root, "b"), "b"));
    assert_null(tree_find(NULL, "a"));
    tree_destroy(tree);
}

static void empty_values_are_told_from_empty_texts(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("a:\nb: ''\nc: {}\nd: []\n");

    assert_false(tree_find(tree->root, "a")->quoted);
    assert_true(tree_find(tree->root, "b")->quoted);
    assert_int_equal(tree_find(tree->root, "c")->kind, TREE_MAPPING);
    assert_int_equal(tree_find(tree->root, "d")->child_count, 0);
    tree_destroy(tree);
}

static void depth_is_limited_to_the_last_level(ATTR_UNUSED void **state)
{
    char text[2 * TREE_DEPTH_MAX + 3];
    struct tree *tree = NULL;
    struct weft_error error = {0};

    memset(text, '[', TREE_DEPTH_MAX);
    memset(text + TREE_DEPTH_MAX, ']', TREE_DEPTH_MAX);
    assert_good(tree_parse("t", text, 2 * TREE_DEPTH_MAX, &tree, &error), &error);
    tree_destroy(tree);

    memset(text, '[', TREE_DEPTH_MAX + 1);
    memset(text + TREE_DEPTH_MAX + 1, ']', TREE_DEPTH_MAX + 1);
    assert_int_equal(tree_parse("t", text, 2 * TREE_DEPTH_MAX + 2, &tree, &error), WEFT_LIMIT);
    assert_string_equal(error.message, "t:1: nested more than 64 deep");
}

/* "k0: v\nk1: v\n..." of @count keys, then key @twice once more. The caller frees it. */
static char *many_keys(uint32_t count, uint32_t twice, size_t *size_out)
{
    const size_t room = (size_t)(count + 1) * 16;
    char *text = malloc(room);
    size_t size = 0;

    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, room - size, "k%u: v\n", i);
    }
    size += (size_t)snprintf(text + size, room - size, "k%u: v\n", twice);
    *size_out = size;
    return text;
}

static void a_mapping_of_many_keys_is_searched_for_doubles_in_time(ATTR_UNUSED void **state)
{
    struct tree *tree = NULL;
    struct weft_error error = {0};
    size_t size = 0;

    char *text = many_keys(/* count */ 200000, /* twice */ 77777, &size);
    assert_int_equal(tree_parse("t", text, size, &tree, &error), WEFT_INVALID);
    assert_string_equal(error.message, "t:200001: key 'k77777' occurs twice");
    free(text);
}

/* "[0,0,...]" with @count zeros; the caller frees it. */
static char *zeros(uint32_t count, size_t *size_out)
{
    char *text = malloc((size_t)count * 2 + 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = i == 0 ? '[' : ',';
        text[2 * i + 1] = '0';
    }
    text[2 * (size_t)count] = ']';
    *size_out = (size_t)count * 2 + 1;
    return text;
}

static void values_are_limited_in_number(ATTR_UNUSED void **state)
{
    struct tree *tree = NULL;
    struct weft_error error = {0};
    size_t size = 0;

    /* With the list itself, exactly as many as are allowed. */
    char *text = zeros(TREE_NODES_MAX - 1, &size);
    assert_good(tree_parse("t", text, size, &tree, &error), &error);
    tree_destroy(tree);
    free(text);

    text = zeros(TREE_NODES_MAX, &size);
    assert_int_equal(tree_parse("t", text, size, &tree, &error), WEFT_LIMIT);
    assert_string_equal(error.message, "t:1: more than 1000000 values in one document");
    free(text);
}

static void of_two_doubles_the_first_is_told(ATTR_UNUSED void **state)
{
    static const char text[] = "z: 1\na: 1\nz: 2\na: 2\n";
    struct tree *tree = NULL;
    struct weft_error error = {0};

    assert_int_equal(tree_parse("t", text, strlen(text), &tree, &error), WEFT_INVALID);
    assert_string_equal(error.message, "t:3: key 'z' occurs twice");
    assert_null(tree);
}

static void the_host_does_not_have_to_listen(ATTR_UNUSED void **state)
{
    struct tree *tree = NULL;

    assert_int_equal(tree_parse("t", "a: [", 4, &tree, NULL), WEFT_INVALID);
    tree_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_knows_its_line),
        cmocka_unit_test(json_and_yaml_give_the_same_tree),
        cmocka_unit_test(keys_are_found_only_in_mappings),
        cmocka_unit_test(empty_values_are_told_from_empty_texts),
        cmocka_unit_test(depth_is_limited_to_the_last_level),
        cmocka_unit_test(a_mapping_of_many_keys_is_searched_for_doubles_in_time),
        cmocka_unit_test(values_are_limited_in_number),
        cmocka_unit_test(of_two_doubles_the_first_is_told),
        cmocka_unit_test(the_host_does_not_have_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
