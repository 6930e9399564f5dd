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
    assert_int_equal(set.named, 1 << ROLE_ORDER);
    assert_int_equal(policy_set_parse("fifo", &set, NULL), WEFT_OK);
    assert_int_equal(set.named, 0);
}

static void roles_behind_a_name_are_taken_from_its_policy(void **state)
{
    (void)state;
    struct policy_set set;
    const char *text = "fifo,place=jit:transfer,cache=lru";
    assert_int_equal(policy_set_parse(text, &set, NULL), WEFT_OK);
    assert_string_equal(set.text, text);
    assert_ptr_equal(set.roles[ROLE_PLACE].policy, &policy_jit);
    assert_true(set.roles[ROLE_PLACE].options[1] == 1.0);
    assert_ptr_equal(set.roles[ROLE_ORDER].policy, &policy_fifo);
    assert_ptr_equal(set.roles[ROLE_CACHE].policy, &policy_lru);
    assert_ptr_equal(set.roles[ROLE_STEAL].policy, NULL);
    assert_int_equal(set.named, 1 << ROLE_PLACE | 1 << ROLE_CACHE);

    assert_int_equal(policy_set_parse("po2:choices=9,cache=lru", &set, NULL), WEFT_OK);
    assert_ptr_equal(set.roles[ROLE_PLACE].policy, &policy_po2);
    assert_true(set.roles[ROLE_PLACE].options[0] == 9);
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
        {"po2:choices=3.1e1", 31},
        {"place=po2:choices=9", 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_set set;
        assert_int_equal(policy_set_parse(cases[i].text, &set, NULL), WEFT_OK);
        assert_true(set.roles[ROLE_PLACE].options[0] == cases[i].choices);
    }
}

struct wrong {
    const char *text;
    enum weft_status status;
    const char *message;
};

static void expect_wrong(const struct wrong *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
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

static void what_makes_no_sense_is_named(void **state)
{
    (void)state;
    static const struct wrong cases[] = {
        {"plase=heft", WEFT_NOT_FOUND,
         "role 'plase' is not known; roles: admit, place, order, dispatch, steal, cache, tick"},
        {"=heft", WEFT_NOT_FOUND,
         "role '' is not known; roles: admit, place, order, dispatch, steal, cache, tick"},
        {"po2:x=1", WEFT_NOT_FOUND, "policy 'po2' has no option 'x'; it has choices"},
        {"po2:choice=1", WEFT_NOT_FOUND, "policy 'po2' has no option 'choice'; it has choices"},
        {"hash:seed=1", WEFT_NOT_FOUND, "policy 'hash' has no option 'seed'; it has none"},
        {"po2::choices=1", WEFT_NOT_FOUND, "policy 'po2' has no option ''; it has choices"},
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
        {"heft,lru", WEFT_INVALID, "'lru' in 'heft,lru' names no role; write role=policy"},
        {"place=jit,lru", WEFT_INVALID,
         "'lru' in 'place=jit,lru' names no role; write role=policy"},
        {"heft,place=jit,place=po2", WEFT_INVALID, "role 'place' is given twice"},
        {"heft,", WEFT_INVALID, "'' in 'heft,' names no role; write role=policy"},
        {"po2:,cache=lru", WEFT_INVALID, "'po2:' ends without an option"},
        {"place=jit,", WEFT_INVALID, "'' in 'place=jit,' names no role; write role=policy"},
        {",place=jit", WEFT_INVALID, "'' in ',place=jit' names no role; write role=policy"},
        {"", WEFT_INVALID, "the name of a policy is empty"},
    };
    expect_wrong(cases, sizeof(cases) / sizeof(cases[0]));
}

static void values_that_cannot_be_used_are_named_with_their_range(void **state)
{
    (void)state;
    static const struct wrong cases[] = {
        {"po2:choices=0", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 0; it must be a whole number from 1 to 32"},
        {"place=po2:choices=33", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 33; it must be a whole number from 1 to 32"},
        {"po2:choices=2.5", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 2.5; it must be a whole number from 1 to 32"},
        {"po2:choices=1e300", WEFT_INVALID,
         "option 'choices' of policy 'po2' is 1e+300; it must be a whole number from 1 to 32"},
        {"esg:margin=-2", WEFT_INVALID,
         "option 'margin' of policy 'esg' is -2; it must be a number from 0 to 10"},
        {"compass:original=2", WEFT_INVALID,
         "option 'original' of policy 'compass' is 2; it must be 0 or 1"},
        {"compass:original:threshold=5", WEFT_INVALID,
         "option 'threshold' does not apply to 'compass:original'; adjust, load and cache do"},
        {"compass:jitter=0:original", WEFT_INVALID,
         "option 'jitter' does not apply to 'compass:original'; adjust, load and cache do"},
        {"place=compass:original:spread=0.5", WEFT_INVALID,
         "option 'spread' does not apply to 'compass:original'; adjust, load and cache do"},
        {"aquatope:batch=8", WEFT_INVALID,
         "options of policy 'aquatope' ask for 170 trials, random + rounds * batch; "
         "the most is 90"},
    };
    expect_wrong(cases, sizeof(cases) / sizeof(cases[0]));
}

static enum weft_status parse_option(const char *policy, const char *option, double value)
{
    char text[128];
    struct policy_set set;
    struct weft_error error;
    (void)snprintf(text, sizeof(text), "%s:%s=%.17g", policy, option, value);
    return policy_set_parse(text, &set, &error);
}

/* Each option of each policy: its range holds its default, and the text nothing beyond it. */
static void every_option_has_a_range(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        const struct policy *policy = policy_registry[i];
        const struct policy_option *option = policy->options;
        for (; option != NULL && option->name != NULL; option++) {
            assert_true(option->minimum < option->maximum);
            assert_int_equal(parse_option(policy->name, option->name, option->value), WEFT_OK);
            assert_int_equal(parse_option(policy->name, option->name, option->minimum), WEFT_OK);
            assert_int_equal(
                parse_option(policy->name, option->name, option->minimum - 0.5), WEFT_INVALID);
            assert_int_equal(
                parse_option(policy->name, option->name, option->maximum + 1), WEFT_INVALID);
            assert_int_equal(
                parse_option(policy->name, option->name, option->minimum + 0.5),
                option->is_whole ? WEFT_INVALID : WEFT_OK);
        }
    }
}

static void what_is_left_of_the_published_compass_can_be_asked_for(void **state)
{
    (void)state;
    struct policy_set set;
    struct weft_error error;
    assert_int_equal(
        policy_set_parse("compass:original:adjust=0:load=0:cache=0", &set, &error), WEFT_OK);
    assert_int_equal(
        policy_set_parse("compass:original=0:threshold=5:spread=0", &set, &error), WEFT_OK);
    assert_int_equal(
        policy_set_parse("place=compass:original,cache=compass:jitter=0", &set, &error), WEFT_OK);
}

static void a_misspelt_policy_is_answered_with_the_one_that_was_meant(void **state)
{
    (void)state;
    static const char *const cases[] = {"hefx", "place=hef", "Heft"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct policy_set set;
        struct weft_error error = {0};
        assert_int_equal(policy_set_parse(cases[i], &set, &error), WEFT_NOT_FOUND);
        assert_non_null(strstr(error.message, "is not known; did you mean 'heft'?"));
    }
}

static void an_unknown_policy_is_answered_with_the_known_ones(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name;
    } cases[] = {{"zzzzz", "zzzzz"}, {"place=qq", "qq"}, {"place=", ""}};
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
    char bytes[POLICY_TEXT_BYTES_MAX + 1];
    struct text text;
    struct policy_set set;
    struct weft_error error = {0};
    text_init(&text, bytes, sizeof(bytes));
    text_add(&text, "po2:choices=004");
    while (text.length + 10 < POLICY_TEXT_BYTES_MAX) {
        text_add(&text, ":choices=4");
    }
    assert_int_equal(text.length, POLICY_TEXT_BYTES_MAX - 1);
    assert_int_equal(policy_set_parse(bytes, &set, &error), WEFT_OK);
    assert_string_equal(set.text, bytes);
    text_add(&text, "0");
    assert_int_equal(policy_set_parse(bytes, &set, &error), WEFT_INVALID);
    assert_string_equal(error.message, "the text of a policy has 256 bytes; the most is 255");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_alone_takes_every_role_it_fills),
        cmocka_unit_test(roles_are_filled_one_by_one),
        cmocka_unit_test(a_role_leaves_the_other_roles_of_its_policy_alone),
        cmocka_unit_test(roles_behind_a_name_are_taken_from_its_policy),
        cmocka_unit_test(options_have_defaults_and_take_numbers),
        cmocka_unit_test(what_makes_no_sense_is_named),
        cmocka_unit_test(values_that_cannot_be_used_are_named_with_their_range),
        cmocka_unit_test(every_option_has_a_range),
        cmocka_unit_test(what_is_left_of_the_published_compass_can_be_asked_for),
        cmocka_unit_test(a_misspelt_policy_is_answered_with_the_one_that_was_meant),
        cmocka_unit_test(an_unknown_policy_is_answered_with_the_known_ones),
        cmocka_unit_test(a_text_has_a_longest_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
