#pragma once
// `xylem tune --calibrate`: measures this machine and says which XYLEM_HOST_MODEL describes it.
//
//   return runCalibration({.rounds = 11, .json = false});
//
// docs/calibration.md explains method and output.

namespace xylem::cli {

struct CalibrationOptions {
  int rounds = 11;
  bool json = false;
};

// Returns the exit status.
int runCalibration(const CalibrationOptions& options);

}  // namespace xylem::cli
