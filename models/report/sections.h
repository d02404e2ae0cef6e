// The parts of the page. Each is one <section>, or empty if the report has no data for it.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "models/report/format.h"
#include "models/report/words.h"

namespace tessera::report {

struct Section {
  const char* id;
  const char* title;
  std::string html;  // empty: omitted
};

// A table whose first column heads its rows; cells are HTML. Columns from `first_number` on are numbers, except a
// column of text headed "meaning".
struct Table {
  std::string caption;
  std::vector<std::string> head;
  size_t first_number = 1;
  std::vector<std::vector<std::string>> rows;
  std::string str() const;
};

std::string mark(Mark mark);      // a sign, and a word for screen readers
std::string style_of(Mark mark);  // its class
std::string key(std::initializer_list<std::pair<const char*, const char*>> entries);  // class of the color, its meaning
// The expandable content of a summary.
std::string terms(const std::string& summary, const std::vector<std::pair<const char*, const char*>>& explained);

// Drawings of one report; a page of several reports shows them side by side.
std::string column_order();  // buttons that sort the cards of columns
std::string column_figure(const Json& drawn);
std::string error_figure(const Json& report);
std::string plane_figure(const Json& report);
std::string roc_figure(const Json& judge);
std::string used_table(const Json& judge);
std::string attacks_table(const Json& attacks);  // the JSON of tessera_audit()
std::string distance_figure(const Json& distances);
// The measures of a group (measures.h) that a report has, beside those of real rows.
std::string measures_table(const Json& report, const std::string& group, const std::string& caption);
std::string training_figures(const Json& report);
// For sequences: the names of the drawn features, and the drawing of one.
std::vector<std::string> drawn_features(const Json& report);
std::string feature_figures(const Json& report, const std::string& name);
std::string sequence_terms();  // with the key of the colors
// The meanings of a section's figures.
std::string column_terms();
std::string pair_terms();
std::string plane_terms();
std::string judge_terms();
std::string distance_terms();
std::string section_html(const Section& section);
std::string verdict_box(const Statement& headline, const std::vector<Statement>& reasons);
std::string cautions_box(const std::vector<std::string>& cautions);
std::string limits_box();  // how marks are set

// The verdict on rules: a reason if all are kept, else a caution.
void add_rules(const Json& report, Verdict& verdict);
std::string rule_code(const Json& rule);       // the rule's text
std::string broken_example(const Json& rule);  // "row 17: total = 5, items = 2"; empty if no row breaks it

std::string columns_section(const Json& report);
std::string pairs_section(const Json& report);
std::string rules_section(const Json& report);
std::string written_section(const Json& report);
std::string projection_section(const Json& report);
std::string privacy_section(const Json& report);
std::string judge_section(const Json& report);
std::string utility_section(const Json& report);
std::string sequences_section(const Json& report);
std::string training_section(const Json& report);
std::string model_section(const Json& report);

// The parts of a page.
struct Page {
  std::string question;  // its heading
  std::string about;     // the line below it
  std::string first;     // the verdict
  std::vector<Section> sections;
  std::string named = {};  // the files and the day, if they are known
};
// The page of a list of {name, report}; of a report that has only a model and its training; of a prior's tables.
Page page_of_several(const Json& tables);
Page page_of_fit(const Json& report);
Page page_of_prior(const Json& report);

}  // namespace tessera::report
