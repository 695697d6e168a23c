#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/mem.h"

static void gives_zeroes(void **state)
{
	(void)state;
	const char zeroes[100] = { 0 };
	char *one = mem_zero(100);
	char *many = mem_array(25, 4);
	assert_memory_equal(one, zeroes, 100);
	assert_memory_equal(many, zeroes, 100);
	free(one);
	free(many);
}

static void gives_a_pointer_of_its_own_for_no_bytes(void **state)
{
	(void)state;
	void *a = mem_zero(0);
	void *b = mem_array(0, 8);
	void *c = mem_copy(NULL, 0);
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_ptr_not_equal(a, b);
	free(a);
	free(b);
	free(c);
}

static void keeps_the_bytes_when_it_resizes(void **state)
{
	(void)state;
	char *p = mem_text("abc");
	p = mem_resize(p, 1000, 10);
	assert_string_equal(p, "abc");
	p = mem_resize(p, 0, 10);
	assert_non_null(p);
	free(p);
}

static void copies_text_and_bytes(void **state)
{
	(void)state;
	char *whole = mem_text("waymark");
	char *part = mem_text_n("waymark", 3);
	char *bytes = mem_copy("a\0b", 3);
	assert_string_equal(whole, "waymark");
	assert_string_equal(part, "way");
	assert_memory_equal(bytes, "a\0b", 3);
	free(whole);
	free(part);
	free(bytes);
}

/* Volatile, so that the compiler cannot see that the sizes are absurd: (huge / 4 + 2) * 4 wraps round to 4. */
static volatile const size_t huge = SIZE_MAX;

static void ask_for_an_array_that_overflows(void)
{
	free(mem_array(huge / 4 + 2, 4));
}

static void resize_to_an_array_that_overflows(void)
{
	free(mem_resize(NULL, huge / 4 + 2, 4));
}

static void ask_for_a_text_that_overflows(void)
{
	free(mem_text_n("a", huge));
}

static void assert_ends_the_process(void (*act)(void))
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* The sanitizer's report of the very thing that we provoke is no news. */
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		act();
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void aborts_on_overflow(void **state)
{
	(void)state;
	assert_ends_the_process(ask_for_an_array_that_overflows);
	assert_ends_the_process(resize_to_an_array_that_overflows);
	assert_ends_the_process(ask_for_a_text_that_overflows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_zeroes),
		cmocka_unit_test(gives_a_pointer_of_its_own_for_no_bytes),
		cmocka_unit_test(keeps_the_bytes_when_it_resizes),
		cmocka_unit_test(copies_text_and_bytes),
		cmocka_unit_test(aborts_on_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
