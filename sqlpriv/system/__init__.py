"""Files and Arrow arrays: what every layer may use."""
