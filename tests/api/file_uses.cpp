// The files of one command, checked together: which uses may share a file, and which files must not be replaced.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/folder.h"
#include "tessera/tessera.hpp"

namespace {

namespace fs = std::filesystem;

class FileUses : public tessera::test::InFolder {
 protected:
  FileUses() { std::ofstream(at("table.csv")) << "a,b\n1,x\n"; }

  // The message of the check; empty: no error.
  static std::string check(const std::vector<tessera_file>& files) {
    try {
      tessera::check_files(files);
      return "";
    } catch (const tessera::Error& e) {
      EXPECT_EQ(e.status(), TESSERA_E_IO) << e.what();
      return e.what();
    }
  }
};

// Every pair of uses under every pair of names of one file: a file may have both uses only if neither writes.
TEST_F(FileUses, RejectTwoUsesOfOneFile) {
  fs::create_hard_link(at("table.csv"), at("hard"));
  fs::create_symlink("table.csv", at("soft"));
  fs::create_directory(at("folder"));
  const std::string there[] = {at("table.csv"), at("hard"), at("soft"), at("folder/../soft")},
                    none[] = {at("new"), at("folder/../new"), at("./new")};
  const auto uses = {TESSERA_FILE_READ, TESSERA_FILE_WRITTEN, TESSERA_FILE_REGULAR};
  const auto pairs = [&](const auto& names) {
    for (const std::string& first : names)
      for (const std::string& second : names)
        for (const tessera_file_use a : uses)
          for (const tessera_file_use b : uses) {
            const std::string said =
                check({{0, "the first", first.c_str(), a, 1}, {0, "the second", second.c_str(), b, 1}});
            const bool apart = a == TESSERA_FILE_READ && b == TESSERA_FILE_READ;
            EXPECT_EQ(said.empty(), apart) << first << " " << second << " " << a << b << said;
            if (apart) continue;
            for (const char* part : {"the first", "the second", "Choose another file"})
              EXPECT_NE(said.find(part), std::string::npos) << said;
          }
  };
  pairs(there);
  pairs(none);
  EXPECT_EQ(check({{0, "a", at("new").c_str(), TESSERA_FILE_WRITTEN, 0},
                   {0, "b", at("folder/new").c_str(), TESSERA_FILE_WRITTEN, 0}}),
            "");
  EXPECT_EQ(check({{0, "a", "/dev/null", TESSERA_FILE_WRITTEN, 0},
                   {0, "b", "/dev/null", TESSERA_FILE_WRITTEN, 0},
                   {0, "c", "-", TESSERA_FILE_WRITTEN, 0},
                   {0, "d", "-", TESSERA_FILE_READ, 0}}),
            "");
  EXPECT_NE(check({{0, "the table", at("tab*.csv").c_str(), TESSERA_FILE_READ, 0},
                   {0, "--model", at("table.csv").c_str(), TESSERA_FILE_REGULAR, 1}}),
            "");
  tessera::check_files({});
}

TEST_F(FileUses, CoverBothGenerationsOfACheckpoint) {
  const std::string checkpoint = at("c"), older = at("c.previous"), table = at("table.csv");
  EXPECT_EQ(check({{0, "the checkpoint", checkpoint.c_str(), TESSERA_FILE_CHECKPOINT, 0}}), "");
  for (const std::string& log : {checkpoint, older})
    EXPECT_NE(check({{0, "the checkpoint", checkpoint.c_str(), TESSERA_FILE_CHECKPOINT, 0},
                     {0, "--log", log.c_str(), TESSERA_FILE_WRITTEN, 1}}),
              "");
  for (const std::string& name : {checkpoint, older}) {
    fs::copy(table, name);
    EXPECT_NE(check({{0, "the checkpoint", checkpoint.c_str(), TESSERA_FILE_CHECKPOINT, 1}})
                  .find(name + ": a checkpoint would replace this"),
              std::string::npos);
    // Every function that takes the path of a checkpoint rejects it likewise.
    tessera_fit_options o{};
    o.struct_size = sizeof o;
    o.checkpoint = checkpoint.c_str();
    EXPECT_EQ(tessera_check_fit_options(&o), TESSERA_E_IO);
    EXPECT_EQ(tessera_checkpoint_remove(checkpoint.c_str()), TESSERA_E_IO);
    EXPECT_TRUE(fs::exists(name));
    fs::remove(name);
  }
}

TEST_F(FileUses, RejectPipesForRegularFiles) {
  const std::string pipe = at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(check({{0, "--output", pipe.c_str(), TESSERA_FILE_WRITTEN, 0}}), "");
  EXPECT_NE(check({{0, "--model", pipe.c_str(), TESSERA_FILE_REGULAR, 1}}).find("pipe"), std::string::npos);
}

// A caller with a newer header passes an array of larger elements.
TEST_F(FileUses, UseTheStrideOfTheCaller) {
  struct Wider {
    tessera_file known;
    size_t unknown[3] = {};
  };
  const std::string table = at("table.csv");
  const Wider files[] = {{{sizeof(Wider), "the table", table.c_str(), TESSERA_FILE_READ, 0}, {}},
                         {{sizeof(Wider), "--log", table.c_str(), TESSERA_FILE_WRITTEN, 1}, {}}};
  EXPECT_EQ(tessera_check_files(&files[0].known, 2), TESSERA_E_IO) << tessera_last_error();
}

TEST_F(FileUses, AgreeWithSaving) {
  fs::create_symlink("nowhere/x", at("dangling"));
  fs::create_directory(at("folder"));
  tessera::Context context;
  tessera_fit_options o{};
  o.settings = "epochs=0";
  const auto model = tessera::Model::fit(context, tessera::read_table(context, {at("table.csv")}), o);
  for (const std::string& name :
       {std::string("dangling"), std::string("folder"), std::string("none/x"), std::string("table.csv/x"),
        std::string(256, 'n'), std::string(255, 'n'), std::string("new")}) {
    std::string asked, saved;
    try {
      const std::string path = at(name);
      tessera::check_files({{0, "a model", path.c_str(), TESSERA_FILE_TEXT, 1}});
    } catch (const tessera::Error& e) { asked = e.what(); }
    try {
      model.save(at(name), true);
    } catch (const tessera::Error& e) { saved = e.what(); }
    EXPECT_EQ(asked, saved) << name;
  }
}

}  // namespace
