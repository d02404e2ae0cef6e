// Dates, and dates with a time of day, as text: parsing and formatting.
//
// A format is strftime-like: %Y %y %m %-m %d %-d %b %B %a %A, %H %-H %I %-I %M %S %p, others for themselves.
// Before it may stand the language of its months and their spelling, if not English and as usual: "[de]", "[fr title]",
// "[upper]". At its end may stand an offset from UTC ("Z", "+02:00", " EST"): the number is then an instant in UTC.
// Years of two digits: full_year() (calendar.h). The digits of the second are the column's decimals.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tables/formats/calendar.h"
#include "tables/formats/month_names.h"

namespace tessera {

// The order of a date's parts and what separates them; one without a day is the month's first. `padded` formats: "%-d"
// is read by the layout of "%d".
struct DateLayout {
  const char* format;  // canonical: padded, %b for names of months
  char order[4];       // of numbers between separators: "ymd", "dmy", "mdy", "ym", "my"; "": read by `format`
  char separator;      // between them
  bool short_year;     // of two digits
};
constexpr DateLayout kDateLayouts[] = {
    {"%Y-%m-%d", "ymd", '-', false},  {"%Y/%m/%d", "ymd", '/', false}, {"%Y.%m.%d", "ymd", '.', false},
    {"%d/%m/%Y", "dmy", '/', false},  {"%m/%d/%Y", "mdy", '/', false}, {"%d.%m.%Y", "dmy", '.', false},
    {"%d-%m-%Y", "dmy", '-', false},  {"%m-%d-%Y", "mdy", '-', false}, {"%d/%m/%y", "dmy", '/', true},
    {"%m/%d/%y", "mdy", '/', true},   {"%d.%m.%y", "dmy", '.', true},  {"%d-%m-%y", "dmy", '-', true},
    {"%m-%d-%y", "mdy", '-', true},   {"%y-%m-%d", "ymd", '-', true},  {"%Y%m%d", "", 0, false},
    {"%b %d, %Y", "", 0, false},      {"%b %d %Y", "", 0, false},      {"%d %b %Y", "", 0, false},
    {"%d-%b-%Y", "", 0, false},       {"%d/%b/%Y", "", 0, false},      {"%d. %b %Y", "", 0, false},
    {"%d de %b de %Y", "", 0, false}, {"%d%b%Y", "", 0, false},        {"%Y-%b-%d", "", 0, false},
    {"%d-%b-%y", "", 0, true},        {"%d %b %y", "", 0, true},       {"%d/%b/%y", "", 0, true},
    {"%b %d, %y", "", 0, true},       {"%d%b%y", "", 0, true},         {"%Y-%m", "ym", '-', false},
    {"%Y/%m", "ym", '/', false},      {"%m/%Y", "my", '/', false},     {"%m-%Y", "my", '-', false},
    {"%b-%Y", "", 0, false},          {"%b %Y", "", 0, false},         {"%b-%y", "", 0, true}};
constexpr int kDateLayoutCount = sizeof kDateLayouts / sizeof kDateLayouts[0];
using LayoutBits = uint64_t;  // bit i: kDateLayouts[i]
// Weekdays in English before a date of any layout: "Tue, 26 Jan 2021".
constexpr const char* kWeekdays[] = {"", "%a, ", "%A, ", "%a ", "%A "};
constexpr LayoutBits kCompactLayout = 1u << 14;  // %Y%m%d
constexpr LayoutBits kShortYears = [] {
  LayoutBits out = 0;
  for (int i = 0; i < kDateLayoutCount; ++i) out |= LayoutBits{kDateLayouts[i].short_year} << i;
  return out;
}();

// A time of day in a cell.
struct TimeOfDay {
  bool has_seconds = false, twelve = false;     // twelve: AM or PM stands behind it
  bool basic = false;                           // 173707, without colons
  bool dots = false;                            // 17.37.07, behind a date
  bool bare_hour = false, padded_hour = false;  // an hour below 10 was written 5, 05
  bool space = false, lower = false;            // before AM or PM; am or pm
  int written_digits = 0;                       // of the second's fraction, at most 6
  int fraction_digits = 0;                      // the same without zeros at the end
  double seconds = 0;                           // of the day
};
// Moves p behind it; hours up to 23, or 1 … 12 with AM or PM.
bool read_time_of_day(const char*& p, const char* end, TimeOfDay& time, char colon = ':');

// A date, or a date and a time of day, in a cell.
struct Moment {
  LayoutBits layouts = 0;                 // those that read it as a real day, of the weekday before it
  size_t weekday = 0;                     // of kWeekdays
  uint32_t names = ~0u;                   // lists that have its month's name; all if it is a number
  uint32_t cases = ~0u;                   // bit per NameCase: its name is spelled so
  int parts[3] = {0, 0, 0};               // as written; year, month, day if a layout without order reads it
  bool padded = false, unpadded = false;  // a day or month was written 05, 5
  bool has_time = false, utc = false;     // utc: an offset stands behind it
  int offset = 0;                         // from UTC, in minutes
  std::string_view between;               // date and time
  std::string_view zone;                  // the offset as it is written: "Z", "+02:00", " EST"
  TimeOfDay time;
};
bool read_moment(std::string_view text, Moment& moment);
double day_of(const Moment& moment, int layout);  // days since 1970-01-01

// Parses by a column's own format: days since 1970-01-01 of a date, seconds since 1970-01-01T00:00:00 of a datetime.
// ISO 8601 (year first, '-') is accepted for every format.
bool read_date(std::string_view text, const std::string& format, double& days);
bool read_datetime(std::string_view text, const std::string& format, double& seconds);
// The same for many values: by the layout of their format.
int layout_of(const std::string& format);  // that of %Y-%m-%d for what is no format
bool is_date_format(const std::string& format);
bool read_date(std::string_view text, int layout, double& days);
bool read_datetime(std::string_view text, int layout, double& seconds);

// `decimals` digits of the second follow %S. Dates are rounded to days, datetimes to the last digit; years are clamped
// to 1 … 9999.
void write_date(double days, const std::string& format, std::string& out);
void write_datetime(double seconds, const std::string& format, int decimals, std::string& out);
// A time of day in seconds, clamped to the day, rounded to what the format shows.
void write_time_of_day(double seconds, const std::string& format, int decimals, std::string& out);

// ISO 8601, in UTC if the format has an offset.
std::string plain_datetime(const std::string& format);

// Whether an offset from UTC is at the end of a format; in minutes.
bool has_offset(const std::string& format, int& minutes);

}  // namespace tessera
