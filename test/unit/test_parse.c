/* What a composition's text may say, and what is said about one that makes no sense. */
#include "base/text.h"
#include "policy_fixture.h"

static void a_name_alone_takes_every_role_it_fills(void **state)
{
    (void)state;
    struct policy_set set;
    assert_int_equal(policy_set_parse("fifo", &set, NULL), WEFT_OK);
    assert_string_equal(set.text, "fifo");
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        const bool filled = role == ROLE_PLACE || role == ROLE_ORDER;
        assert_ptr_equal(set.roles[role].policy, filled ? &policy_fifo : NULL);
    }
}

static void roles_are_filled_one_by_one(void **state)
{
    (void)state;
    struct policy_set set;
    const char *text = "cache=lru,place=jit:threshold_ms=2.5:transfer,order=edf";
    assert_int_equal(policy_set_parse(text, &set, NULL), WEFT_OK);
    assert_string_equal(set.text, text);
    assert_ptr_equal(set.roles[ROLE_CACHE].policy, &policy_lru);
    assert_ptr_equal(set.roles[ROLE_PLACE].policy, &policy_jit);
    assert_ptr_equal(set.roles[ROLE_ORDER].policy, &policy_edf);
    assert_ptr_equal(set.roles[ROLE_ADMIT].policy, NULL);
    assert_true(set.roles[ROLE_PLACE].options[0] == 2.5);
    assert_true(set.roles[ROLE_PLACE].options[1] == 1.0); /* An option alone is set. */
}

static void a_role_leaves_the_other_roles_of_its_policy_alone(void **state)
{
    (void)state;
    struct policy_set set;
    assert_int_equal(policy_set_parse("order=fifo", &set, NULL), WEFT_OK);
    assert_ptr_equal(set.roles[ROLE_ORDER].policy, &policy_fifo);
    assert_ptr_equal(set.roles[ROLE_PLACE].policy, NULL);
}

static void options_have_defaults_and_take_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double choices;
    } cases[] = {
        {"po2", 2},
        {"po2:choices=5", 5},
        {"po2:choices=5:choices=3", 3},
        {"po2:choices=-1.5e1", -15},
        {"place=po2:choices=9", 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_set set;
        assert_int_equal(policy_set_parse(cases[i].text, &set, NULL), WEFT_OK);
        assert_true(set.roles[ROLE_PLACE].options[0] == cases[i].choices);
    }
}

static void what_makes_no_sense_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum weft_status status;
        const char *message;
    } cases[] = {
        {"plase=heft", WEFT_NOT_FOUND,
         "role 'plase' is not known; roles: admit, place, order, dispatch, steal, cache, tick"},
        {"=heft", WEFT_NOT_FOUND,
         "role '' is not known; roles: admit, place, order, dispatch, steal, cache, tick"},
        {"po2:x=1", WEFT_NOT_FOUND, "policy 'po2' has no option 'x'"},
        {"po2:choice=1", WEFT_NOT_FOUND, "policy 'po2' has no option 'choice'"},
        {"hash:seed=1", WEFT_NOT_FOUND, "policy 'hash' has no option 'seed'"},
        {"po2::choices=1", WEFT_NOT_FOUND, "policy 'po2' has no option ''"},
        {"po2:", WEFT_INVALID, "'po2:' ends without an option"},
        {"po2:choices=", WEFT_INVALID,
         "option 'choices' of policy 'po2' is ''; it must be a number"},
        {"po2:choices=two", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 'two'; it must be a number"},
        {"po2:choices=2x", WEFT_INVALID,
         "option 'choices' of policy 'po2' is '2x'; it must be a number"},
        {"po2:choices=nan", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 'nan'; it must be a number"},
        {"po2:choices=inf", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 'inf'; it must be a number"},
        {"po2:choices=1e999", WEFT_INVALID,
         "option 'choices' of policy 'po2' is '1e999'; it must be a number"},
        {"po2:choices= 2", WEFT_INVALID,
         "option 'choices' of policy 'po2' is ' 2'; it must be a number"},
        {"place=lru", WEFT_INVALID, "policy 'lru' does not fill role 'place'"},
        {"tick=heft", WEFT_INVALID, "policy 'heft' does not fill role 'tick'"},
        {"place=jit,place=heft", WEFT_INVALID, "role 'place' is given twice"},
        {"heft,cache=lru", WEFT_INVALID,
         "'heft' in 'heft,cache=lru' names no role; write role=policy"},
        {"heft,lru", WEFT_INVALID, "'heft' in 'heft,lru' names no role; write role=policy"},
        {"place=jit,", WEFT_INVALID, "'' in 'place=jit,' names no role; write role=policy"},
        {",place=jit", WEFT_INVALID, "'' in ',place=jit' names no role; write role=policy"},
        {"jit:transfer=1,cache=lru", WEFT_INVALID,
         "'jit:transfer=1' in 'jit:transfer=1,cache=lru' names no role; write role=policy"},
        {"", WEFT_INVALID, "the name of a policy is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_set set;
        struct policy_set before;
        struct weft_error error = {0};
        memset(&set, 0x5a, sizeof(set));
        memcpy(&before, &set, sizeof(set));
        assert_int_equal(policy_set_parse(cases[i].text, &set, &error), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_memory_equal(&set, &before, sizeof(set)); /* Nothing is written on failure. */
    }
}

static void an_unknown_policy_is_answered_with_the_known_ones(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name;
    } cases[] = {{"hefx", "hefx"}, {"place=hef", "hef"}, {"place=", ""}, {"Heft", "Heft"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[240];
        struct text text;
        struct policy_set set;
        struct weft_error error = {0};
        text_init(&text, expected, sizeof(expected));
        text_add(&text, "policy '%s' is not known; known: compass, hash", cases[i].name);
        for (uint32_t k = 2; policy_registry[k] != NULL; k++) {
            text_add(&text, ", %s", policy_registry[k]->name);
        }
        assert_int_equal(policy_set_parse(cases[i].text, &set, &error), WEFT_NOT_FOUND);
        assert_string_equal(error.message, expected);
    }
}

static void a_text_has_a_longest_length(void **state)
{
    (void)state;
    char text[POLICY_TEXT_BYTES_MAX + 1];
    struct policy_set set;
    struct weft_error error = {0};
    memset(text, '0', sizeof(text));
    memcpy(text, "po2", 3);
    for (size_t i = 3; i + 10 < sizeof(text); i += 10) {
        memcpy(text + i, ":choices=4", 10);
    }
    text[POLICY_TEXT_BYTES_MAX] = '\0';
    assert_int_equal(policy_set_parse(text, &set, &error), WEFT_INVALID);
    assert_string_equal(error.message, "the text of a policy has 256 bytes; the most is 255");
    text[POLICY_TEXT_BYTES_MAX - 1] = '\0';
    assert_int_equal(policy_set_parse(text, &set, &error), WEFT_OK);
    assert_string_equal(set.text, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_alone_takes_every_role_it_fills),
        cmocka_unit_test(roles_are_filled_one_by_one),
        cmocka_unit_test(a_role_leaves_the_other_roles_of_its_policy_alone),
        cmocka_unit_test(options_have_defaults_and_take_numbers),
        cmocka_unit_test(what_makes_no_sense_is_named),
        cmocka_unit_test(an_unknown_policy_is_answered_with_the_known_ones),
        cmocka_unit_test(a_text_has_a_longest_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
