/* Covers: service_admit() and service_admit_all() of src/service/service.c. */
#include "service/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "policy/compose.h"
#include "policy/registry.h"

/* What a server that is told @text uses to admit requests. */
static const struct policy *admits(const char *text)
{
    struct policy_set policies;
    assert_int_equal(policy_set_parse(text, &policies, NULL), WEFT_OK);
    service_admit(&policies);
    return policies.roles[ROLE_ADMIT].policy;
}

static void a_server_refuses_what_would_be_late(ATTR_UNUSED void **state)
{
    assert_ptr_equal(admits("po2"), &policy_deadline);
    assert_ptr_equal(admits("place=jit,order=edf"), &policy_deadline);
}

static void a_policy_that_refuses_nothing_has_to_be_named_for_it(ATTR_UNUSED void **state)
{
    assert_true(policy_weft.admits_all);
    assert_ptr_equal(admits("weft"), &policy_deadline);
    assert_ptr_equal(admits("weft,cache=lru"), &policy_deadline);
    assert_ptr_equal(admits("admit=weft"), &policy_weft);
    assert_ptr_equal(admits("po2,admit=weft"), &policy_weft);
}

static void all_may_be_admitted(ATTR_UNUSED void **state)
{
    struct policy_set policies;
    assert_int_equal(policy_set_parse("weft,admit=deadline", &policies, NULL), WEFT_OK);
    service_admit_all(&policies);
    assert_null(policies.roles[ROLE_ADMIT].policy);
    assert_ptr_equal(policies.roles[ROLE_PLACE].policy, &policy_weft);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_refuses_what_would_be_late),
        cmocka_unit_test(a_policy_that_refuses_nothing_has_to_be_named_for_it),
        cmocka_unit_test(all_may_be_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
