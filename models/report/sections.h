// The parts of the page. Each is one <section>, or nothing where the report has nothing for it.
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
  std::string html;  // empty: left out
};

// A table whose first column heads its rows; cells are HTML. Columns from `first_number` on are numbers, but for one of
// words that is headed "meaning".
struct Table {
  std::string caption;
  std::vector<std::string> head;
  size_t first_number = 1;
  std::vector<std::vector<std::string>> rows;
  std::string str() const;
};

std::string mark(Mark mark);      // a sign, and the same in a word for who does not see it
std::string style_of(Mark mark);  // its class
std::string key(
    std::initializer_list<std::pair<const char*, const char*>> entries);  // class of the colour, its meaning
// What is behind a summary that opens.
std::string terms(const std::string& summary, const std::vector<std::pair<const char*, const char*>>& explained);

// Drawings of one report; a page of several puts them side by side.
std::string column_order();  // buttons that sort the cards of columns
std::string column_figure(const Json& drawn);
std::string error_figure(const Json& report);
std::string plane_figure(const Json& report);
std::string roc_figure(const Json& judge);
std::string used_table(const Json& judge);
std::string distance_figure(const Json& distances);
// What utility is measured by, of classes or of a number.
struct UtilityMeasure {
  const char* name;
  const char* key;  // in "synthetic" and "real"
  const char* meaning;
  std::string (*write)(double);
};
std::vector<UtilityMeasure> utility_measures(const Json& utility);
std::string training_figures(const Json& report);
// Of sequences: the features that are drawn, by name, and what is drawn of one.
std::vector<std::string> drawn_features(const Json& report);
std::string feature_figures(const Json& report, const std::string& name);
std::string sequence_terms();  // with the key of the colours
// What the figures of a section mean.
std::string column_terms();
std::string pair_terms();
std::string plane_terms();
std::string judge_terms();
std::string distance_terms();
std::string section_html(const Section& section);
std::string verdict_box(const Statement& headline, const std::vector<Statement>& reasons);
std::string cautions_box(const std::vector<std::string>& cautions);
std::string limits_box();  // how marks are set

// The verdict on rules: a reason where all are kept, else a caution.
void add_rules(const Json& report, Verdict& verdict);
std::string rule_code(const Json& rule);       // as it is written
std::string broken_example(const Json& rule);  // "row 17: total = 5, items = 2"; nothing where no row breaks it

std::string columns_section(const Json& report);
std::string pairs_section(const Json& report);
std::string rules_section(const Json& report);
std::string projection_section(const Json& report);
std::string privacy_section(const Json& report);
std::string judge_section(const Json& report);
std::string utility_section(const Json& report);
std::string sequences_section(const Json& report);
std::string training_section(const Json& report);
std::string model_section(const Json& report);

// What a page consists of.
struct Page {
  std::string question;  // its heading
  std::string about;     // the line below it
  std::string first;     // the verdict
  std::vector<Section> sections;
};
// Of a list of {name, report}; of a report that has nothing but a model and its training.
Page page_of_several(const Json& tables);
Page page_of_fit(const Json& report);

}  // namespace tessera::report
