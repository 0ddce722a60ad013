#include "render/text/label.h"

#include <math.h>
#include <string.h>

#include "render/render.h"

void af_label_fixed(struct af_buf *b, double value, unsigned decimals)
{
	static const double powers[] = {1, 10, 100, 1000, 1e4, 1e5, 1e6};
	char digits[8];

	if (decimals > 6)
		decimals = 6;
	if (!(fabs(value) < 1e12)) {
		af_buf_char(b, '0');
		return;
	}
	int64_t n = (int64_t)(value * powers[decimals] + (value < 0 ? -0.5 : 0.5));
	if (n < 0)
		af_buf_char(b, '-');
	uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
	uint64_t unit = (uint64_t)powers[decimals];
	af_buf_u64(b, size / unit);
	if (!decimals)
		return;
	digits[0] = '.';
	size %= unit;
	for (unsigned i = decimals; i > 0; i--, size /= 10)
		digits[i] = (char)('0' + size % 10);
	af_buf_add(b, digits, decimals + 1);
}

void af_label_commas(struct af_buf *b, uint64_t value)
{
	char text[27];
	int n = sizeof text;

	for (int digits = 0; !digits || value; digits++, value /= 10) {
		if (digits && digits % 3 == 0)
			text[--n] = ',';
		text[--n] = (char)('0' + value % 10);
	}
	af_buf_add(b, text + n, sizeof text - (size_t)n);
}

void af_label_percent(struct af_buf *b, uint64_t part, uint64_t whole)
{
	af_label_fixed(b, whole ? 100.0 * (double)part / (double)whole : 0, 2);
	af_buf_char(b, '%');
}

static void label_time(struct af_buf *b, double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {0, " ns"}};
	int u = 0;

	while (ns < units[u].ns)
		u++;
	double n = units[u].ns ? ns / units[u].ns : ns;
	af_label_fixed(b, n, !units[u].ns ? 0 : n < 100 ? 2 : 1);
	af_buf_str(b, units[u].unit);
}

/* A number that is not whole: commas before the point, at most six digits and no zeros after it. */
static void label_fraction(struct af_buf *b, double value)
{
	if (!(value < 1e12) || value < 0) {
		af_label_commas(b, value > 1.8e19 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0);
		return;
	}
	uint64_t millionths = (uint64_t)(value * 1e6 + 0.5);
	af_label_commas(b, millionths / 1000000);
	millionths %= 1000000;
	if (!millionths)
		return;
	char digits[8] = ".000000";
	for (int i = 6; i > 0; i--, millionths /= 10)
		digits[i] = (char)('0' + millionths % 10);
	size_t len = 7;
	while (digits[len - 1] == '0')
		len--;
	af_buf_add(b, digits, len);
}

void af_label_weight(struct af_buf *b, const struct af_tree_weight *weight, uint64_t value,
                     const struct af_picture *p)
{
	bool scaled = weight->scale > 1 || (p->factor != 0 && p->factor != 1);
	double real = (double)value;

	if (weight->scale > 1)
		real /= (double)weight->scale;
	if (p->factor != 0)
		real *= p->factor;
	if (!p->count_name && !strcmp(weight->unit, "ns")) {
		label_time(b, real);
		return;
	}
	if (scaled)
		label_fraction(b, real);
	else
		af_label_commas(b, value);
	af_buf_char(b, ' ');
	const char *unit = p->count_name ? p->count_name : weight->unit;
	af_buf_xml(b, unit, strlen(unit));
}

/* af_buf_xml, and U+FFFE and U+FFFF: the only UTF-8 that XML forbids besides. */
void af_label_xml(struct af_buf *b, const char *s, size_t len)
{
	size_t from = 0;

	for (size_t i = 0; i + 3 <= len; i++) {
		if (memcmp(s + i, "\xef\xbf", 2) || ((unsigned char)s[i + 2] & 0xfe) != 0xbe)
			continue;
		af_buf_xml(b, s + from, i - from);
		af_buf_str(b, "\xef\xbf\xbd");
		from = i + 3;
		i += 2;
	}
	af_buf_xml(b, s + from, len - from);
}

const char *af_label_text(const struct af_tree *t, uint32_t node, size_t *len)
{
	const char *s = af_tree_label(t, t->nodes[node].name, len);

	if (!node) {
		*len = 3;
		return "all";
	}
	if (*len > 4 && !memcmp(s + *len - 4, "_[w]", 4))
		*len -= 4;
	return s;
}

void af_label_key(struct af_buf *b, const char *text, size_t len, enum af_frame frame)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == 0x7f)
			c = ' ';
		else if (c == '<' || c == '>')
			c = c == '<' ? '(' : ')';
		else if (c == ';')
			c = ':';
		af_buf_char(b, (char)c);
	}
	af_buf_str(b, af_frame_suffix(frame));
}

void af_label_exact(struct af_buf *b, uint64_t value, uint64_t scale)
{
	char digits[21];

	if (scale <= 1) {
		af_buf_u64(b, value);
		return;
	}
	af_buf_u64(b, value / scale);
	uint64_t rest = value % scale;
	if (!rest)
		return;
	int n = 0;
	digits[n++] = '.';
	for (uint64_t unit = scale / 10; unit; unit /= 10) {
		if (!rest)
			break;
		digits[n++] = (char)('0' + rest / unit);
		rest %= unit;
	}
	af_buf_add(b, digits, (size_t)n);
}
