"""Why a release is private: sensitivity, noise, and whom a charge concerns."""
