#pragma once
// Every variable that the planner and the runtime honour, read once into a value.
//
//   Settings settings = Settings::fromEnvironment();
//   if (settings.integer(Setting::kPxnDisable) == 1) ...
//
// The table is core/settings_table.h. A value that NCCL would silently replace becomes a warning and the
// default; any other value out of range or unparsable is an Error that names the variable and where it was
// set.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace xylem {

enum class Setting : int {
#define X(id, name, kind, min, max, fallback, help) id,
#include "core/settings_table.h"
#undef X
  kCount
};

// kSecret: a text that is never printed.
enum class SettingKind { kInteger, kText, kPath, kLevel, kList, kSecret };

struct SettingSpec {
  Setting id;
  const char* name;
  SettingKind kind;
  std::int64_t minimum;
  std::int64_t maximum;
  const char* fallback;
  const char* help;
};

std::span<const SettingSpec> settingSpecs();
const SettingSpec& spec(Setting setting);
// Null if no row has this name.
const SettingSpec* findSetting(std::string_view name);
const char* name(SettingKind kind);
// Returns whether the plan of a job depends on the variable; others only matter while the job runs.
bool decidesPlans(Setting setting);

// A variable of NCCL that Xylem knows and does not read (core/nccl_variables.h).
struct NcclVariable {
  enum Decides { kRun, kPlans };
  const char* name;
  const char* since;  // the first version of NCCL with it, or ""
  const char* until;  // the last one, or ""
  const char* fallback;
  Decides decides;
  const char* help;
};
std::span<const NcclVariable> ncclVariables();
// Null if no row has this name.
const NcclVariable* findNcclVariable(std::string_view name);
// Tells about a name that findSetting() does not find: "is NCCL's, and no plan depends on it: time-out of
// a queue pair, …", or "is no variable of NCCL or Xylem; did you mean NCCL_ALGO?".
std::string aboutUnknownVariable(std::string_view name);

class Settings {
 public:
  // All defaults.
  Settings();

  // The process's environment, completed by the files NCCL reads: $NCCL_CONF_FILE or ~/.nccl.conf, then
  // /etc/nccl.conf (lines NAME=VALUE; what is set already stays).
  static Settings fromEnvironment();
  // The same, but a value that cannot be used is no error: its variable has its default, and refusals() has the reason.
  static Settings fromEnvironmentWithRefusals();
  // From given pairs of name and value; messages call their source `origin`. Throws if a name is not in the
  // table.
  static Settings fromPairs(const std::map<std::string, std::string>& pairs,
                            const std::string& origin = "settings");

  // Adds the lines NAME=VALUE of a configuration file; variables that are set already keep their values.
  // Origins and messages call it `file`.
  void addLines(std::istream& lines, const std::string& file);
  // Sets one variable, as if it had been in the environment.
  void set(const SettingSpec& spec, const std::string& value, const std::string& origin);

  // Takes NCCL's variables from `answer` in place of the environment: null means not set. A variable of a configuration file stays
  // where there is no answer. Messages call the source `origin`.
  void takeAnswers(const std::function<const char*(const char* name)>& answer, const std::string& origin);

  bool isSet(Setting setting) const { return entry(setting).set; }
  // Where it was set: "environment", "/etc/nccl.conf:3"; empty if it is not.
  const std::string& origin(Setting setting) const { return entry(setting).origin; }
  std::int64_t integer(Setting setting) const { return entry(setting).number; }
  const std::string& text(Setting setting) const { return entry(setting).text; }

  // Oddities that are no errors: values that NCCL ignores or changes, variables of NCCL that its plans depend on and Xylem does
  // not read, and unknown NCCL_* or XYLEM_* names with a suggestion.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // A value that NCCL ignores because it cannot use it, or, without `spec`, a file that cannot be read. warnings() has these, too.
  struct Ignored {
    const SettingSpec* spec = nullptr;
    std::string value;
    std::string origin;
    std::string warning;
  };
  const std::vector<Ignored>& ignored() const { return ignored_; }
  // The variables of NCCL or its plugins that are set and that no plan depends on: what they are, and where they
  // are set.
  const std::vector<std::string>& notes() const { return notes_; }
  // The variables of NCCL that are set and that Xylem does not read.
  struct Unread {
    const NcclVariable* variable = nullptr;
    std::string origin;
  };
  const std::vector<Unread>& unread() const { return unread_; }
  // The values that fromEnvironmentWithRefusals() met and could not use.
  struct Refusal {
    const SettingSpec* spec = nullptr;
    std::string value;
    std::string origin;
    InputError error;
  };
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  struct Entry {
    bool set = false;
    bool claimed = false;  // set, or present but empty in a stronger source
    std::int64_t number = 0;
    std::string text;
    std::string origin;
  };
  const Entry& entry(Setting setting) const { return entries_[static_cast<std::size_t>(setting)]; }
  // Takes what fromEnvironment() reads; values that cannot be used become refusals.
  void readEnvironment();
  void setOrRefuse(const SettingSpec& spec, const std::string& value, const std::string& origin);
  void takeLines(std::istream& lines, const std::string& file);
  void ignore(Ignored ignored);
  // False if there is no such file, or it is a directory.
  bool readFile(const std::string& path);
  // Whether a variable names a plugin, which may have variables of its own.
  bool namesPlugin() const;
  void noteUnknown(std::string_view name, const std::string& value, const std::string& origin);
  void noteOddity(std::string_view name, const std::string& value, const std::string& origin);
  // Returns whether NCCL does not understand a line of a configuration file as it is meant; it is ignored then.
  bool noteStrangeLine(const std::string& line, const std::string& origin);

  std::vector<Entry> entries_;
  std::vector<std::string> warnings_;
  std::vector<Ignored> ignored_;
  std::vector<std::string> notes_;
  std::vector<Unread> unread_;
  std::vector<Refusal> refusals_;
};

}  // namespace xylem
