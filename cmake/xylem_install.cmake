# Install targets, CMake package and pkg-config files.
