"""The trust boundary. Read README.md in this folder first."""
