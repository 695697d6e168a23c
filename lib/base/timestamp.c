#include "lib/base/timestamp.h"

#include <stdbool.h>
#include <time.h>

#include "lib/base/clock.h"

#define YEAR_MIN 1970
#define YEAR_MAX 9999
/* 10000-01-01 in seconds since 1970. */
#define END_S INT64_C(253402300800)

struct civil {
	int64_t year;
	int month, day;
};

/*
 * Years are counted from March, so that the leap day is the last day of its year (Howard Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms").
 */
static struct civil civil_from_days(int64_t days)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t day_of_era = days - era * 146097;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month_from_march = (5 * day_of_year + 2) / 153;
	struct civil c = {
		.day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
		.month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9),
	};
	c.year = year_of_era + era * 400 + (c.month <= 2 ? 1 : 0);
	return c;
}

/*
 * Hand-written instead of snprintf, because every click event contains such a text. Returns the
 * position after the digits.
 */
static char *put_digits(char *at, int64_t number, int digits)
{
	for (int i = digits - 1; i >= 0; i--, number /= 10)
		at[i] = (char)('0' + number % 10);
	return at + digits;
}

static char *put_date(char *at, int64_t days)
{
	struct civil c = civil_from_days(days);
	if (c.year < 0)
		*at++ = '-';
	at = put_digits(at, c.year < 0 ? -c.year : c.year,
	                c.year < -YEAR_MAX || c.year > YEAR_MAX ? 6 : 4);
	*at++ = '-';
	at = put_digits(at, c.month, 2);
	*at++ = '-';
	return put_digits(at, c.day, 2);
}

/* fraction is the number of digits after the decimal point of the seconds. */
static void format(int64_t time_us, int fraction, int64_t us_per_step, char *at)
{
	int64_t days = time_us / CLOCK_US_PER_DAY;
	int64_t of_day = time_us % CLOCK_US_PER_DAY;
	if (of_day < 0) {
		days--;
		of_day += CLOCK_US_PER_DAY;
	}
	int64_t seconds = of_day / CLOCK_US_PER_S;
	at = put_date(at, days);
	*at++ = 'T';
	at = put_digits(at, seconds / 3600, 2);
	*at++ = ':';
	at = put_digits(at, seconds / 60 % 60, 2);
	*at++ = ':';
	at = put_digits(at, seconds % 60, 2);
	*at++ = '.';
	at = put_digits(at, of_day % CLOCK_US_PER_S / us_per_step, fraction);
	*at++ = 'Z';
	*at = '\0';
}

void timestamp_format_ms(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE])
{
	format(time_us, 3, CLOCK_US_PER_MS, out);
}

void timestamp_format_us(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE])
{
	format(time_us, 6, 1, out);
}

void timestamp_format_day(int32_t day, char out[static TIMESTAMP_TEXT_SIZE])
{
	*put_date(out, day) = '\0';
}

/* Each reader below advances *at past what it read, or leaves it in place if it returns false. */

static bool read_digits(const char **at, int digits, int min, int max, int *out)
{
	int value = 0;
	for (int i = 0; i < digits; i++) {
		char c = (*at)[i];
		if (c < '0' || c > '9')
			return false;
		value = value * 10 + (c - '0');
	}
	if (value < min || value > max)
		return false;
	*at += digits;
	*out = value;
	return true;
}

static bool read_one_of(const char **at, const char *either)
{
	if (**at == '\0' || (**at != either[0] && **at != either[1]))
		return false;
	++*at;
	return true;
}

static bool read_date(const char **at, int64_t *days)
{
	struct tm date = { 0 };
	if (!read_digits(at, 4, YEAR_MIN, YEAR_MAX, &date.tm_year) || !read_one_of(at, "--") ||
	    !read_digits(at, 2, 1, 12, &date.tm_mon) || !read_one_of(at, "--") ||
	    !read_digits(at, 2, 1, 31, &date.tm_mday))
		return false;
	int day = date.tm_mday;
	date.tm_year -= 1900;
	date.tm_mon--;
	*days = timegm(&date) / 86400;
	return date.tm_mday == day; /* timegm turns 31 June into 1 July */
}

static bool read_time_of_day(const char **at, int64_t *seconds)
{
	int hour, minute, second;
	if (!read_digits(at, 2, 0, 23, &hour) || !read_one_of(at, "::") ||
	    !read_digits(at, 2, 0, 59, &minute) || !read_one_of(at, "::") ||
	    !read_digits(at, 2, 0, 59, &second))
		return false;
	*seconds = hour * 3600 + minute * 60 + second;
	return true;
}

static bool read_fraction(const char **at, int64_t *us)
{
	*us = 0;
	if (!read_one_of(at, ".."))
		return true;
	int digits = 0;
	int64_t ns = 0;
	for (int64_t unit = 100000000; **at >= '0' && **at <= '9'; ++*at, digits++, unit /= 10)
		ns += unit * (**at - '0');
	*us = ns / 1000;
	return digits >= 1 && digits <= 9;
}

static bool read_offset(const char **at, int64_t *seconds)
{
	*seconds = 0;
	if (read_one_of(at, "Zz"))
		return true;
	bool west = **at == '-';
	int hour, minute;
	if (!read_one_of(at, "+-") || !read_digits(at, 2, 0, 23, &hour) || !read_one_of(at, "::") ||
	    !read_digits(at, 2, 0, 59, &minute))
		return false;
	*seconds = (west ? -1 : 1) * (hour * 3600 + minute * 60);
	return true;
}

enum err timestamp_parse(const char *text, int64_t *time_us)
{
	const char *at = text;
	int64_t days, of_day, fraction_us, offset;
	if (!read_date(&at, &days) || !read_one_of(&at, "Tt") || !read_time_of_day(&at, &of_day) ||
	    !read_fraction(&at, &fraction_us) || !read_offset(&at, &offset) || *at != '\0')
		return ERR_INVALID;
	int64_t seconds = days * 86400 + of_day - offset;
	/* An offset can move the first and the last day out of the supported years. */
	if (seconds < 0 || seconds >= END_S)
		return ERR_INVALID;
	*time_us = seconds * CLOCK_US_PER_S + fraction_us;
	return OK;
}
