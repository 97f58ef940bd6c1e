// The PMI-1 client against a server that follows a script.

#include "runtime/launch/pmi_client.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(30);

// A server that reads one request before each of its answers, then closes.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> answers) {
    std::array<int, 2> ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    client_ = FileDescriptor(ends[0]);
    server_ = FileDescriptor(ends[1]);
    thread_ = std::thread([this, answers = std::move(answers)] { serve(answers); });
  }
  ~ScriptedServer() {
    client_.reset();
    thread_.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int client() const { return client_.get(); }
  // The requests; valid once the client has received all answers.
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  void serve(const std::vector<std::string>& answers) {
    for (const std::string& answer : answers) {
      std::string request;
      char byte = 0;
      while (read(server_.get(), &byte, 1) == 1 && byte != '\n') request += byte;
      requests_.push_back(request);
      // In two parts, as a line may arrive in pieces. The client may have closed after the first.
      const std::size_t half = answer.size() / 2;
      if (send(server_.get(), answer.data(), half, MSG_NOSIGNAL) < 0 ||
          send(server_.get(), answer.data() + half, answer.size() - half, MSG_NOSIGNAL) < 0)
        break;
    }
    server_.reset();
  }

  FileDescriptor client_, server_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

const std::vector<std::string> kGreeting = {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                                            "cmd=my_kvsname kvsname=kvs_7\n"};

std::vector<std::string> afterGreeting(const std::vector<std::string>& answers) {
  std::vector<std::string> all = kGreeting;
  all.insert(all.end(), answers.begin(), answers.end());
  return all;
}

TEST(PmiClient, PutsWaitsGetsAndLeaves) {
  ScriptedServer server(
      afterGreeting({"cmd=put_result rc=0 msg=success\n", "cmd=barrier_out rc=0\n",
                     "cmd=get_result rc=0 msg=success value=6162\n", "cmd=finalize_ack rc=0\n"}));
  PmiClient store(server.client(), kTimeout);
  store.put("id", "6162");
  store.barrier();
  EXPECT_EQ(store.get("id"), "6162");
  store.finish();
  EXPECT_THAT(server.requests(), ElementsAre("cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                                             "cmd=put kvsname=kvs_7 key=id value=6162", "cmd=barrier_in",
                                             "cmd=get kvsname=kvs_7 key=id", "cmd=finalize"));
}

// The error when `work` is done with a server that answers so.
std::string complaintOfClient(const std::vector<std::string>& answers,
                              std::chrono::seconds timeout = kTimeout) {
  ScriptedServer server(answers);
  try {
    PmiClient store(server.client(), timeout);
    store.get("id");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(PmiClient, SaysWhatTheServerDidInstead) {
  EXPECT_THAT(complaintOfClient({}), HasSubstr("PMI_FD"));
  EXPECT_THAT(complaintOfClient({"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"}),
              HasSubstr("rc=-1"));
  EXPECT_THAT(complaintOfClient({kGreeting[0], "cmd=my_kvsname\n"}), HasSubstr("it has no name"));
  EXPECT_THAT(complaintOfClient(kGreeting), HasSubstr("NCCL_COMM_ID"));
  EXPECT_THAT(
      complaintOfClient(afterGreeting({"cmd=get_result rc=-1 msg=key_id_not_found\n"})),
      HasSubstr("it answered `cmd=get_result rc=-1 msg=key_id_not_found` to `get kvsname=kvs_7 key=id`"));
  EXPECT_THAT(complaintOfClient({std::string(10000, 'x')}), HasSubstr("a line without an end"));
  EXPECT_THAT(complaintOfClient({kGreeting[0], "cmd=my_kvsname kvsname=unfinished"}),
              HasSubstr("it closed the connection"));
}

TEST(PmiClient, DoesNotWaitForEver) {
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor client(ends[0]), silent(ends[1]);
  try {
    PmiClient store(client.get(), std::chrono::seconds(1));
    FAIL() << "nobody answered";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no answer within 1 s"));
  }
}

}  // namespace
}  // namespace xylem::launch
