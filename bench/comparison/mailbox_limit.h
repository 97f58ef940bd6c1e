#pragma once
// The least time that two cores need for a small operation. Each writes its data into a mailbox that both
// have mapped, together with a sequence number, and reads its own mailbox. They wait for nothing else: the
// time of 8 bytes is that of one cache line.

#include <memory>

#include "comparison/contender.h"
#include "comparison/core_pair.h"
#include "comparison/exchange.h"
#include "comparison/mapped_limit.h"

namespace xylem::bench {

class MailboxLimit : public Contender {
 public:
  explicit MailboxLimit(CorePair& pair);
  ~MailboxLimit() override;

  bool supports(const Case& c) const override;
  void prepare(std::uint64_t bytes) override;
  double measure(const Case& c, unsigned iterations, unsigned warmUps) override;
  std::optional<std::uint64_t> check(const Case& c) override;
  int buffers() const override { return 4; }

 private:
  struct Letter;
  struct Mailbox;
  void once(const Exchange& exchange, const std::vector<Piece>& pieces, int side, unsigned n);

  CorePair& pair_;
  std::unique_ptr<Mailbox[]> boxes_;  // by sender
  std::vector<Buffer> in_, out_;
  unsigned sent_ = 0;
};

}  // namespace xylem::bench
