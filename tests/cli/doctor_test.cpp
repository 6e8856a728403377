// weft doctor: each check in its bad state. Where the test may bring the system into that state it
// runs the tool in it (a lower limit, a folder mounted, a system call refused); the rest are facts
// made up.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/doctor/checks.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::doctor_test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;

/// A machine with an adapter, on which nothing holds weft back.
SystemFacts good_system() {
  SystemFacts system;
  system.kernel = "6.1.0-13-amd64";
  system.files = 65536;
  system.most_files = 1 << 20;
  system.shm = {"", 1024 * kMiB, 1000 * kMiB};
  system.ptrace_scope = 0;
  system.huge_pages = "madvise";
  system.adapters = {"mlx5_0"};
  return system;
}

Info good_info() {
  Info info;
  const verbs::Gid gid{3, "10.0.0.1", "RoCE v2"};
  const verbs::Port port{1, "", "active", "Ethernet", 0, 4096, 4096, {gid}};
  info.libraries = {{"libibverbs", "libibverbs.so.1", "", {{"mlx5_0", "", "", "", {port}}}},
                    {"software device", "libweft-verbs-soft.so", "", {}}};
  info.rails.emplace_back();
  info.rails[0].name = "mlx5_0 port 1 (Ethernet)";
  info.rails[0].device = "mlx5_0";
  info.rails[0].profile_age_days = 3;
  info.profile = "mlx5_0 (probed)";
  info.cores = info.bound_cores = 16;
  info.views = {{"cma", true, ""}};
  info.settings = comm::settings();
  for (comm::Setting& setting : info.settings) setting.value.reset();
  return info;
}

std::string no_interface(const std::string&, int, int) {
  return "";
}

/// The findings that are not ok; each must say what it means and what to type.
Findings complaints(Findings all) {
  std::erase_if(all, [](const Finding& found) { return found.verdict == Verdict::ok; });
  for (const Finding& found : all) {
    for (const std::string& text : {found.name, found.state, found.meaning, found.remedy}) {
      EXPECT_NE(text, "") << found.name;
      EXPECT_EQ(text.find('\n'), text.npos) << text;
    }
  }
  return all;
}

Findings complaints(const SystemFacts& system, const Info& info) {
  Findings all = complaints(check_system(system, info));
  for (Finding& found : complaints(check_devices(system, info, &no_interface)))
    all.push_back(std::move(found));
  return all;
}

/// One complaint, about `name`.
void expect_one(const Findings& found, const std::string& name, Verdict verdict,
                const std::string& remedy) {
  ASSERT_EQ(found.size(), 1u) << name;
  EXPECT_EQ(found[0].name, name);
  EXPECT_EQ(found[0].verdict, verdict) << name;
  EXPECT_NE(found[0].remedy.find(remedy), std::string::npos) << found[0].remedy;
}

TEST(Doctor, FindsNothingOnAGoodMachine) {
  EXPECT_TRUE(complaints(good_system(), good_info()).empty());
}

struct BadSystem {
  const char* name;
  Verdict verdict;
  const char* remedy;
  void (*spoil)(SystemFacts& system, Info& info);
};

const BadSystem kBadSystems[] = {
    {"kernel", Verdict::warning, "5.3", [](auto& system, auto&) { system.kernel = "4.18.0-553"; }},
    {"locked memory", Verdict::problem, "ulimit -l",
     [](auto& system, auto&) { system.locked_bytes = 64 << 10; }},
    {"locked memory", Verdict::warning, "ulimit -l",
     [](auto& system, auto&) { system.locked_bytes = 64 * kMiB; }},
    {"open files", Verdict::warning, "ulimit -n 4096",
     [](auto& system, auto&) {
       system.files = 256;
       system.most_files = 4096;
     }},
    {"open files", Verdict::warning, "limits.d",
     [](auto& system, auto&) { system.files = system.most_files = 256; }},
    {"open files", Verdict::problem, "ulimit -n",
     [](auto& system, auto&) { system.files_error = "20 of 20 descriptors would be in use"; }},
    {"shared memory", Verdict::problem, "memfd_create",
     [](auto& system, auto&) { system.memory_file_error = "memfd_create: Not permitted"; }},
    {"/dev/shm", Verdict::problem, "mount -t tmpfs",
     [](auto& system, auto&) { system.shm.error = "/dev/shm: Read-only file system"; }},
    {"/dev/shm", Verdict::warning, "remount",
     [](auto& system, auto&) { system.shm.free_bytes = 64 * kMiB; }},
    {"huge pages", Verdict::warning, "madvise",
     [](auto& system, auto&) { system.huge_pages = "never"; }},
    {"memory limit", Verdict::warning, "--memory",
     [](auto& system, auto&) { system.memory_limit = 100 * kMiB; }},
    {"cores", Verdict::warning, "--cpus=16", [](auto&, auto& info) { info.cores = 2; }},
    {"neighbours' memory", Verdict::warning, "kernel.yama.ptrace_scope=0",
     [](auto& system, auto& info) {
       system.ptrace_scope = 1;
       info.views = {{"cma", false, "process_vm_readv: Operation not permitted"}};
     }},
    {"neighbours' memory", Verdict::warning, "SYS_PTRACE",
     [](auto&, auto& info) {
       info.views = {{"cma", false, "process_vm_readv: Operation not permitted"}};
     }},
    {"registrations", Verdict::warning, "userfaultfd",
     [](auto&, auto& info) { info.registration_error = "userfaultfd: Operation not permitted"; }},
    {"adapters", Verdict::problem, "libibverbs1",
     [](auto&, auto& info) {
       info.libraries[0].devices.clear();
       info.libraries[0].error = "cannot load libibverbs.so.1";
     }},
    {"mlx5_0", Verdict::problem, "/dev/infiniband",
     [](auto&, auto& info) {
       info.libraries[0].devices[0] = {"mlx5_0", "ibv_open_device: Permission denied", "", "", {}};
     }},
    {"between nodes", Verdict::problem, "weft info",
     [](auto&, auto& info) {
       info.rails.clear();
       info.device_error = "WEFT_DEVICE=mlx9: there is no device mlx9";
     }},
    {"profile", Verdict::warning, "weft probe --device mlx5_0",
     [](auto&, auto& info) { info.rails[0].profile_age_days = 400; }},
    {"profile", Verdict::warning, "weft probe --device mlx5_0",
     [](auto&, auto& info) { info.rails[0].profile_age_days.reset(); }},
    {"profile", Verdict::warning, "weft probe --device mlx5_0",
     [](auto&, auto& info) { info.rails[0].profile_has_intervals = false; }},
};

TEST(Doctor, FindsWhatIsWrongWithTheSystem) {
  for (const BadSystem& bad : kBadSystems) {
    SystemFacts system = good_system();
    Info info = good_info();
    bad.spoil(system, info);
    expect_one(complaints(system, info), bad.name, bad.verdict, bad.remedy);
  }
}

TEST(Doctor, FindsWhatIsWrongWithAPort) {
  const struct {
    Verdict verdict;
    const char* remedy;
    void (*spoil)(verbs::Port& port);
  } kPorts[] = {
      {Verdict::problem, "dmesg", [](auto& port) { port.error = "ibv_query_port: I/O error"; }},
      {Verdict::warning, "ip link set", [](auto& port) { port.state = "down"; }},
      {Verdict::warning, "iblinkinfo",
       [](auto& port) {
         port.state = "down";
         port.link_layer = "InfiniBand";
       }},
      {Verdict::warning, "opensm",
       [](auto& port) {
         port.state = "initializing";
         port.link_layer = "InfiniBand";
       }},
      {Verdict::problem, "ip address add", [](auto& port) { port.gids.clear(); }},
      {Verdict::warning, "cma_roce_mode", [](auto& port) { port.gids[0].type = "RoCE v1"; }},
      {Verdict::warning, "ip link set eth7 mtu", [](auto& port) { port.mtu_bytes = 1024; }},
      {Verdict::warning, "partitions.conf",
       [](auto& port) {
         port.mtu_bytes = 2048;
         port.link_layer = "InfiniBand";
       }},
  };
  const Interface interface = [](const std::string& device, int port, int gid_index) {
    return std::string(device == "mlx5_0" && port == 1 && gid_index == 3 ? "eth7" : "wrong");
  };
  for (const auto& [verdict, remedy, spoil] : kPorts) {
    Info info = good_info();
    spoil(info.libraries[0].devices[0].ports[0]);
    expect_one(complaints(check_devices(good_system(), info, interface)), "mlx5_0:1", verdict,
               remedy);
  }
}

TEST(Doctor, AsksNothingOfAMachineWithoutAnAdapter) {
  SystemFacts system = good_system();
  system.adapters.clear();
  system.locked_bytes = 64 << 10;
  Info info = good_info();
  info.libraries[0].devices.clear();
  info.registration_error = "userfaultfd: Operation not permitted";
  info.rails[0].is_software = true;
  info.rails[0].profile_age_days.reset();
  EXPECT_TRUE(complaints(system, info).empty());
}

TEST(Doctor, FindsWhatIsWrongWithMpis) {
  const InstalledMpi good{"openmpi", "/usr/bin/mpirun", "4.1.4", {"/lib/a.so", true}, ""};
  const InstalledMpi none{"mpich", "", "", {"/lib/b.so", false}, ""};
  const Addon guide{"/lib/guide.so", true};
  const auto found = [&](const InstalledMpi& first) {
    return complaints(check_mpis(std::vector{first, none}, guide));
  };
  EXPECT_TRUE(found(good).empty());
  InstalledMpi bad = good;
  bad.addon.exists = false;
  expect_one(found(bad), "Open MPI", Verdict::problem, "apt install weft-openmpi");
  bad = good;
  bad.load_error = "libmpi.so.40: cannot open shared object file";
  expect_one(found(bad), "Open MPI", Verdict::problem, "ldd /lib/a.so");
  expect_one(found(none), "MPI", Verdict::problem, "apt install");
  expect_one(complaints(check_mpis(std::vector{good}, {"/lib/guide.so", false})), "weft exec",
             Verdict::problem, "install");
}

TEST(Doctor, FindsComponentsThatAreNotThisWefts) {
  const std::string link = "/root/.openmpi/components/mca_coll_weft.so";
  const Addon own{"/lib/mca_coll_weft.so", true}, none{"/lib/mca_coll_weft.so", false};
  EXPECT_TRUE(complaints(check_component(std::nullopt, own)).empty());
  EXPECT_TRUE(complaints(check_component(InstalledComponent{link, own.path, true}, own)).empty());
  EXPECT_TRUE(complaints(check_component(InstalledComponent{link, own.path, true}, none)).empty());
  const auto expect = [](const Findings& found, Verdict verdict, const std::string& remedy) {
    expect_one(complaints(found), "component of Open MPI", verdict, remedy);
  };
  expect(check_component(InstalledComponent{link, own.path, false}, none), Verdict::problem,
         "--remove");
  expect(check_component(InstalledComponent{link, "/gone.so", false}, own), Verdict::problem,
         "weft install --openmpi");
  expect(check_component(InstalledComponent{link, "/other.so", true}, own), Verdict::warning,
         "weft install --openmpi");
  expect(check_component(InstalledComponent{link, "", true}, own), Verdict::warning, "rm " + link);
}

TEST(Doctor, KnowsLaunchersByTheirVersion) {
  const LauncherMpi openmpi = mpi_of_version_text("mpirun (Open MPI) 4.1.4\n\nReport bugs to ..\n");
  EXPECT_EQ(openmpi.mpi, "openmpi");
  EXPECT_EQ(openmpi.version, "4.1.4");
  const LauncherMpi mpich = mpi_of_version_text(
      "HYDRA build details:\n    Version:                                 4.0.2\n");
  EXPECT_EQ(mpich.mpi, "mpich");
  EXPECT_EQ(mpich.version, "4.0.2");
  EXPECT_EQ(mpi_of_version_text("Intel(R) MPI Library for Linux* OS, Version 2021.8").mpi, "");
}

Findings of_settings(const std::string& name, const std::string& value) {
  Info info = good_info();
  for (comm::Setting& setting : info.settings) {
    if (setting.name == name) setting.value = value;
  }
  return complaints(check_settings(info, std::vector{name}));
}

TEST(Doctor, FindsSettingsThatHoldBack) {
  const struct {
    const char* name;
    const char* value;
    Verdict verdict;
  } kBrakes[] = {
      {"WEFT_DISABLE", "1", Verdict::problem},
      {"WEFT_DISABLE", "reduce", Verdict::warning},
      {"WEFT_NODES", "2", Verdict::warning},
      {"WEFT_VIEW", "staged", Verdict::warning},
      {"WEFT_DEVICE", "soft", Verdict::warning},
      {"WEFT_SOFT_FAULTS", "error:at=100", Verdict::warning},
      {"WEFT_PROFILE", "none", Verdict::warning},
      {"WEFT_REGISTRATION_CACHE", "0", Verdict::warning},
      {"WEFT_ALLTOALL", "sa", Verdict::warning},
  };
  for (const auto& [name, value, verdict] : kBrakes) {
    expect_one(of_settings(name, value), name, verdict, std::string("unset ") + name);
  }
  EXPECT_TRUE(of_settings("WEFT_DISABLE", "0").empty());
  EXPECT_TRUE(of_settings("WEFT_VIEW", "cma").empty());
  EXPECT_TRUE(of_settings("WEFT_REPORT", "1").empty());
}

TEST(Doctor, FindsSettingsThatAreMisspelt) {
  const Findings near = of_settings("WEFT_ALTOALL", "sa");
  expect_one(near, "WEFT_ALTOALL", Verdict::problem, "export WEFT_ALLTOALL=");
  expect_one(of_settings("WEFT_QUITE_ANOTHER_THING", "1"), "WEFT_QUITE_ANOTHER_THING",
             Verdict::problem, "unset WEFT_QUITE_ANOTHER_THING");
  Info info = good_info();
  info.problems = {"WEFT_WAIT=never: not one of auto, spin, sleep"};
  expect_one(complaints(check_settings(info, {})), "settings", Verdict::problem, "unset WEFT_WAIT");
}

/// A folder that plays the root of the file system.
TEST(Doctor, ReadsFilesOfTheSystem) {
  const TemporaryFolder root;
  root.write("proc/sys/kernel/yama/ptrace_scope", "2\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  root.write("proc/self/cgroup", "0::/job/step\n");
  root.write("sys/fs/cgroup/job/memory.max", "104857600\n");
  root.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  root.write("sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/3", "eth2\n");
  root.write("dev/shm/file", "");
  SystemFacts facts = gather_system(root.path());
  EXPECT_EQ(facts.ptrace_scope, 2);
  EXPECT_EQ(facts.huge_pages, "never");
  EXPECT_EQ(facts.memory_limit, 100 * kMiB);
  EXPECT_EQ(facts.adapters, std::vector<std::string>{"mlx5_1"});
  EXPECT_GT(facts.shm.bytes, 0u);
  EXPECT_EQ(interface_of(root.path(), "mlx5_1", 1, 3), "eth2");
  EXPECT_EQ(interface_of(root.path(), "mlx5_1", 1, 4), "");
  fs::remove_all(root.path() / "dev");
  fs::remove_all(root.path() / "proc");
  facts = gather_system(root.path());
  EXPECT_NE(facts.shm.error, "");
  EXPECT_EQ(facts.ptrace_scope, std::nullopt);
  EXPECT_EQ(facts.memory_limit, kNoLimit);
}

TEST(Doctor, ReadsMemoryLimitsOfBothVersionsOfControlGroups) {
  const TemporaryFolder mount;
  mount.write("memory/job/memory.limit_in_bytes", "4096\n");
  mount.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  mount.write("top/memory.max", "8192\n");
  EXPECT_EQ(cgroup_memory(mount.path(), "9:memory:/job\n8:cpu:/job\n"), 4096u);
  EXPECT_EQ(cgroup_memory(mount.path(), "9:memory:/\n"), kNoLimit);
  EXPECT_EQ(cgroup_memory(mount.path(), "0::/top/a/b\n"), 8192u);
  EXPECT_EQ(cgroup_memory(mount.path(), "nonsense"), kNoLimit);
}

/// What the tool says, run by `words` in front of it (a shell's ulimit, mpi_confined).
json examine(const std::vector<std::string>& before, int& code, const Run& how = {}) {
  cli::Run run = how;
  std::vector<std::string> words;
  if (!before.empty()) {
    run.tool = before[0];
    words.assign(before.begin() + 1, before.end());
    words.emplace_back(WEFT_TOOL);
  }
  words.insert(words.end(), {"doctor", "--json"});
  const Ended ended = run_tool(words, run);
  code = ended.code;
  return code == 0 || code == 1 ? json::parse(ended.out) : json();
}

std::string verdict_of(const json& told, const std::string& name) {
  for (const json& found : told.at("findings")) {
    if (found.at("name") == name) return found.at("verdict");
  }
  return "not there";
}

TEST(Doctor, TellsTheSameAsTextAndAsJson) {
  int code = -1;
  const json told = examine({}, code);
  const std::size_t bad = told.at("problems").get<std::size_t>() + told.at("warnings").get<int>();
  EXPECT_EQ(code, bad == 0 ? 0 : 1);
  const Ended text = run_tool({"doctor"});
  EXPECT_EQ(text.code, code);
  EXPECT_EQ(text.out.find('\033'), std::string::npos);
  for (const json& found : told.at("findings")) {
    EXPECT_NE(text.out.find(found.at("name").get<std::string>() + ": "), std::string::npos)
        << found;
  }
  for (const char* name : {"kernel", "cores", "memory limit", "open files", "locked memory",
                           "shared memory", "/dev/shm", "neighbours' memory", "huge pages",
                           "registrations", "adapters", "between nodes", "settings"}) {
    EXPECT_NE(verdict_of(told, name), "not there") << name;
  }
}

TEST(Doctor, SeesLimitsThatAreInForce) {
  int code = -1;
  const auto shell = [](const std::string& limit) {
    return std::vector<std::string>{"/bin/sh", "-c", limit + "; exec \"$0\" \"$@\""};
  };
  EXPECT_EQ(verdict_of(examine(shell("ulimit -n 128"), code), "open files"), "warning");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(verdict_of(examine(shell("ulimit -n 1048576 || ulimit -n $(ulimit -Hn)"), code),
                       "open files"),
            "ok");
}

TEST(Doctor, SeesSettingsOfItsEnvironment) {
  int code = -1;
  const json told =
      examine({}, code, {.environment = {{"WEFT_REPROT", "1"}, {"WEFT_WAIT", "never"}}});
  EXPECT_EQ(code, 1);
  EXPECT_EQ(verdict_of(told, "WEFT_REPROT"), "problem");
  EXPECT_EQ(verdict_of(told, "settings"), "problem");
}

TEST(Doctor, TellsOfAWrongSettingOnce) {
  const std::pair<const char*, const char*> settings[] = {{"WEFT_PROFILE", "nonsense"},
                                                          {"WEFT_PROFILE", "./absent.json"},
                                                          {"WEFT_TABLE", "./absent.json"},
                                                          {"WEFT_DEVICE", "nonsense"},
                                                          {"WEFT_EAGER", "much"}};
  for (const auto& [name, value] : settings) {
    int code = -1;
    const json told = examine({}, code, {.environment = {{name, value}}});
    EXPECT_EQ(code, 1);
    EXPECT_EQ(told.at("problems"), 1) << told;
    EXPECT_EQ(told.at("warnings"), 0) << told;
  }
}

#ifdef WEFT_TEST_CONFINED
TEST(Doctor, SeesWhatTheSystemRefuses) {
  constexpr int kRefusedHere = 77;
  const struct {
    const char* limit;
    const char* name;
    const char* verdict;
  } kLimits[] = {
      {"refuse=process_vm_readv", "neighbours' memory", "warning"},
      {"refuse=memfd_create", "shared memory", "problem"},
      {"read-only-shm", "/dev/shm", "problem"},
      {"shm=64", "/dev/shm", "warning"},
      {"no-proc", "shared memory", "problem"},
  };
  int tried = 0;
  for (const auto& [limit, name, verdict] : kLimits) {
    int code = -1;
    const json told = examine({WEFT_TEST_CONFINED, "all", limit, "--"}, code);
    if (code == kRefusedHere) continue;
    ++tried;
    EXPECT_EQ(code, 1) << limit;
    if (!told.is_null()) {
      EXPECT_EQ(verdict_of(told, name), verdict) << limit;
    }
  }
  if (tried == 0) GTEST_SKIP() << "the system refuses to be confined";
}
#endif

TEST(Doctor, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run_tool({"doctor", "--thoroughly"}).code, 2);
}

}  // namespace
}  // namespace weft::cli::doctor_test
