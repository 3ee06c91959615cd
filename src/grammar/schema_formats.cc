#include "grammar/schema_formats.h"

#include "base/comma_list.h"

namespace foretoken {
namespace {

#define FT_LEAP "(0[48]|[2468][048]|[13579][26])"
#define FT_DATE                                                   \
  "((000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"        \
  "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"                   \
  "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|" \
  "([0-9]{2}" FT_LEAP "|" FT_LEAP "00)-02-29)"
#define FT_TIME                                              \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?" \
  "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define FT_HEX4 "[0-9a-f]{4}"
#define FT_LABEL "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
#define FT_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define FT_SECONDS "[0-9]{1,4}S"
#define FT_MINUTES "[0-9]{1,4}M(" FT_SECONDS ")?"
#define FT_CLOCK "(T([0-9]{1,4}H(" FT_MINUTES ")?|" FT_MINUTES "|" FT_SECONDS "))"
#define FT_DAYS "[0-9]{1,4}D"
#define FT_MONTHS "[0-9]{1,4}M(" FT_DAYS ")?"
#define FT_YEARS "[0-9]{1,4}Y(" FT_MONTHS ")?"

struct NamedFormat {
  std::string_view name, pattern;
};

// Formats as RFC 3339 (dates, times, durations), RFC 4122 and others define them; of addresses,
// only the common forms.
constexpr NamedFormat kFormats[] = {
    {"date", "^" FT_DATE "$"},
    {"time", "^" FT_TIME "$"},
    {"date-time", "^" FT_DATE "T" FT_TIME "$"},
    {"duration",
     "^P([0-9]{1,4}W|(" FT_DAYS "|" FT_MONTHS "|" FT_YEARS ")" FT_CLOCK "?|" FT_CLOCK ")$"},
    {"uuid", "^[0-9a-f]{8}-" FT_HEX4 "-" FT_HEX4 "-" FT_HEX4 "-[0-9a-f]{12}$"},
    {"email",
     "^[A-Za-z0-9]{1,20}([._+-][A-Za-z0-9]{1,20}){0,3}@(" FT_LABEL "\\.){1,4}[a-z]{2,12}$"},
    {"hostname", "^" FT_LABEL "(\\." FT_LABEL "){0,3}$"},
    {"ipv4", "^(" FT_BYTE "\\.){3}" FT_BYTE "$"},
    {"ipv6", "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"},
};

}  // namespace

std::string_view FormatPattern(std::string_view format) {
  for (const NamedFormat& known : kFormats) {
    if (known.name == format) return known.pattern;
  }
  return {};
}

std::string FormatNames() { return CommaList(kFormats, &NamedFormat::name); }

}  // namespace foretoken
