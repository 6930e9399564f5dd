#include "document/check.h"

#include "document_fixture.h"

struct example {
    const char *path;
    enum document_kind kind;
};

static const struct example shipped[] = {
    {"scenarios/compass/compass.yaml", DOCUMENT_SCENARIO},
    {"scenarios/compass/translation.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/question-answer.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/image-to-sound.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/detection.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/compass/compass-t4.profile.json", DOCUMENT_PROFILE},
    {"scenarios/demo/demo.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/diamond.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/network-bound.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/nona.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/one-link.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/parallel.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/racks.yaml", DOCUMENT_SCENARIO},
    {"scenarios/nona/sizes.yaml", DOCUMENT_SCENARIO},
    {"scenarios/demo/document.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/speech.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/image.yaml", DOCUMENT_WORKFLOW},
    {"scenarios/demo/demo.profile.json", DOCUMENT_PROFILE},
    {"test/documents/good/scenario.yaml", DOCUMENT_SCENARIO},
    {"test/documents/good/separate.yaml", DOCUMENT_SCENARIO},
    {"test/documents/good/cluster.yaml", DOCUMENT_CLUSTER},
};

static void shipped_documents_are_good(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        struct weft_error error = {0};
        enum document_kind kind = DOCUMENT_CLUSTER;
        assert_good(document_check(shipped[i].path, &kind, &error), &error);
        assert_int_equal(kind, shipped[i].kind);
    }
}

static void kinds_have_names(ATTR_UNUSED void **state)
{
    assert_string_equal(document_kind_text(DOCUMENT_SCENARIO), "scenario");
    assert_string_equal(document_kind_text(DOCUMENT_WORKFLOW), "workflow");
    assert_string_equal(document_kind_text(DOCUMENT_PROFILE), "profile");
    assert_string_equal(document_kind_text(DOCUMENT_CLUSTER), "cluster");
}

static void a_bad_document_has_no_kind(ATTR_UNUSED void **state)
{
    struct weft_error error = {0};
    enum document_kind kind = DOCUMENT_PROFILE;

    assert_int_equal(document_check("test/documents/bad/cycle.yaml", &kind, &error), WEFT_INVALID);
    assert_int_equal(document_check("none.yaml", &kind, &error), WEFT_IO);
    assert_int_equal(kind, DOCUMENT_PROFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_documents_are_good),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(a_bad_document_has_no_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
