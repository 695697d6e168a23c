#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"

TEST_CASE(new_memory_is_zero)
{
	const char zeros[100] = { 0 };
	char *one = mem_zero(100);
	char *many = mem_array(25, 4);
	assert_memory_equal(one, zeros, 100);
	assert_memory_equal(many, zeros, 100);
	free(one);
	free(many);
}

TEST_CASE(zero_bytes_give_a_unique_pointer)
{
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

TEST_CASE(resizing_keeps_the_bytes)
{
	char *p = mem_text("abc");
	p = mem_resize(p, 1000, 10);
	assert_string_equal(p, "abc");
	p = mem_resize(p, 0, 10);
	assert_non_null(p);
	free(p);
}

TEST_CASE(copies_text_and_bytes)
{
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

/*
 * Volatile, so that the compiler does not notice the absurd sizes: (huge / 4 + 2) * 4 wraps around
 * to 4.
 */
static volatile const size_t huge = SIZE_MAX;

static void allocate_an_overflowing_array(void)
{
	free(mem_array(huge / 4 + 2, 4));
}

static void resize_to_an_overflowing_array(void)
{
	free(mem_resize(NULL, huge / 4 + 2, 4));
}

static void copy_an_overflowing_text(void)
{
	free(mem_text_n("a", huge));
}

static void assert_aborts(void (*act)(void))
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* Hides the sanitizer's report, which this test provokes. */
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		act();
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_CASE(aborts_on_overflow)
{
	assert_aborts(allocate_an_overflowing_array);
	assert_aborts(resize_to_an_overflowing_array);
	assert_aborts(copy_an_overflowing_text);
}

TEST_MAIN()
