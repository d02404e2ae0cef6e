// Values of one to four rows: whether the model file holds them, and whether they come back.
#include <algorithm>
#include <map>

#include "models/audit/attacks.h"
#include "models/audit/secrets.h"

namespace tessera::audit {
namespace {

// Of numbers fewer digits, of texts fewer bytes occur anywhere by chance.
constexpr int kDigitsOfRows = 4, kDigitsOfFile = 9;
constexpr size_t kBytesOfFile = 6;
constexpr int64_t kMaxSearched = 50'000;  // training rows whose values are looked for in the file

// The secrets of one side that the other one and the rest of the training table lack: members' and held-out people's
// are then alike but for having been learned.
std::vector<Secret> alone(const Subject& s, const Table& side, const Table& other, int digits) {
  std::vector<Secret> out = without(secrets_of(side, digits), other);
  return s.others.rows == 0 ? out : without(std::move(out), s.others);
}

std::vector<double> found(const Table& rows, const std::vector<Secret>& secrets) {
  std::vector<double> out;
  for (const char back : are_among(rows, secrets)) out.push_back(back);
  return out;
}

nlohmann::json by_column(const std::vector<Secret>& secrets, const std::vector<double>& back) {
  std::map<std::string, int64_t> count;
  for (size_t i = 0; i < secrets.size(); ++i) count[secrets[i].column] += back[i] > 0;
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [column, n] : count)
    if (n > 0) out[column] = n;
  return out;
}

std::vector<double> found(const ModelFile& file, const std::vector<Secret>& secrets) {
  std::vector<double> out(secrets.size());
  for (const Found& f : found_in(file, secrets, kBytesOfFile)) out[f.secret] = 1;
  return out;
}

// The report contains columns and counts only: values would disclose rows.
Attack in_file(const Subject& s) {
  const ModelFile file(s.model->bytes());
  const std::vector<Secret> of_members = alone(s, s.members, s.held_out, kDigitsOfFile),
                            of_held_out = alone(s, s.held_out, s.members, kDigitsOfFile);
  Attack a{"values in the file",
           "leaks",
           "Does the model file contain values of one to four rows?",
           Attack::Measure::guesses,
           {found(file, of_members), found(file, of_held_out)}};
  const std::vector<Secret> all = secrets_of(s.training.rows <= kMaxSearched ? s.training : s.members, kDigitsOfFile);
  const std::vector<double> back = found(file, all);
  a.details = {{"searched", all.size()},
               {"found", std::count(back.begin(), back.end(), 1.0)},
               {"columns", by_column(all, back)}};
  return a;
}

}  // namespace

std::vector<Attack> leaks(const Subject& s) {
  const std::vector<Secret> of_members = alone(s, s.members, s.held_out, kDigitsOfRows),
                            of_held_out = alone(s, s.held_out, s.members, kDigitsOfRows);
  std::vector<Attack> out;
  out.push_back({"rare values",
                 "leaks",
                 "Do values that only one person has appear in synthetic rows?",
                 Attack::Measure::guesses,
                 {found(s.synthetic, of_members), found(s.synthetic, of_held_out)}});
  out.back().details["columns"] = by_column(of_members, out.back().scores.members);
  if (s.model != nullptr) out.push_back(in_file(s));
  return out;
}

}  // namespace tessera::audit
