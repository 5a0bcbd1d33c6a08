"""The engine that reads a vault's files on many machines: Apache Spark."""
